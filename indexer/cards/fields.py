"""The parts of a search document that all kinds share: terms to be found by, JSON to be shown."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from schemas import search_text
from schemas.access import Place
from schemas.search_index import MARKS, Kind, popular_key, recent_key

Fields = dict[str, Any]
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # the catalogue's times are UTC without saying so
EVERYWHERE: tuple[Place, ...] = ("discovery", "profile", "search", "direct")


def milliseconds(instant: datetime | None) -> int:
    """A catalogue time as a number; 0 for none and for times before 1970."""
    return 0 if instant is None else max(int(instant.replace(tzinfo=UTC).timestamp() * 1000), 0)


def json(card: dict[str, Any]) -> bytes:
    """The card as JSON; its times, which are UTC, in RFC 3339 with Z."""
    return orjson.dumps(card, option=orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z)


def opened(card: dict[str, Any]) -> bytes:
    """The card as JSON without the closing brace, for readers to add their part."""
    return json(card)[:-1]


def ordered(public_id: int, since: datetime | None, count: int) -> Fields:
    """What lists sort by."""
    return {
        "id": public_id,
        "recent": recent_key(milliseconds(since), public_id),
        "popular": popular_key(count, public_id),
    }


def placed(kind: Kind, places: Iterable[Place] = EVERYWHERE) -> list[str]:
    """Where strangers may meet the document."""
    return [f"{kind}@{place}" for place in places]


def findable(
    kind: Kind, names: Sequence[str], others: Sequence[str] = (), prose: str | None = None
) -> Fields:
    """The terms that a search finds the document by: its own names, names beside it, a longer text."""
    mark = MARKS[kind]
    title = [word for name in names for word in search_text.words(name)]
    beside = [word for name in others for word in search_text.words(name)]
    whole = [mark + search_text.squeeze(name) for name in dict.fromkeys(names) if name]
    return {
        "exact": whole,
        "exact_starts": whole,
        "title": _joined(mark, title),
        "title_starts": _spaced(mark, title),
        "names": _joined(mark, title + beside),
        "names_starts": _spaced(mark, title + beside),
        "description": _joined(mark, search_text.words(prose)) if prose else "",
    }


def digested(fields: Fields) -> Fields:
    """The document with a digest of what it stores."""
    digest = hashlib.blake2b(digest_size=8)
    for name in ("card", "hit", "access", "items", "thumb"):
        digest.update(fields.get(name, b"") + b"\0")
    fields["digest"] = int.from_bytes(digest.digest(), "big")
    return fields


def _joined(mark: str, words: Sequence[str]) -> str:
    return " ".join(mark + word for word in dict.fromkeys(words))


def _spaced(mark: str, words: Sequence[str]) -> list[str]:
    return [mark + word for word in dict.fromkeys(words) if not search_text.is_unspaced(word)]
