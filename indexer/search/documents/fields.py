"""The fields of search documents that all kinds share: search terms, sort keys, and cards as JSON."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from schemas import search_text
from schemas.access import Place
from schemas.label_policy import Effect
from schemas.search_index import (
    ADULT,
    BETWEEN_NAMES,
    OTHER,
    WHOLE,
    Kind,
    Scope,
    heats,
    kind_id,
    letter_count,
    name_size,
    place_term,
    popular_key,
    recent_key,
    round_count,
    scoped_word,
    word_count,
)

Fields = dict[str, Any]
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # the catalogue's times are UTC without saying so
MILLISECOND = timedelta(milliseconds=1)
EVERYWHERE: tuple[Place, ...] = ("discovery", "profile", "search", "direct")


class Documents(NamedTuple):
    """The shown document of one resource, and its searchable document (`words`); None: not searchable."""

    shown: Fields
    words: Fields | None


def to_milliseconds(instant: datetime | None) -> int:
    """A catalogue time as a number; 0 for none and for times before 1970."""
    return 0 if instant is None else max((instant - EPOCH) // MILLISECOND, 0)


def card_json(card: dict[str, Any]) -> bytes:
    """The card as JSON; its times, which are UTC, in RFC 3339 with Z."""
    return orjson.dumps(card, option=orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z)


def open_card(card: dict[str, Any]) -> bytes:
    """The card as JSON without the closing brace, for readers to add their part."""
    return card_json(card)[:-1]


def name_fields(kind: Kind, doc: str, public_id: int, since: datetime | None) -> Fields:
    """The fields that both documents share: name, id, and the sort key by time."""
    return {
        "doc": doc,
        "id": kind_id(kind, public_id),
        "recent": recent_key(to_milliseconds(since), public_id),
    }


def of_kind(kind: Kind, is_seen: Callable[[Place, bool], bool]) -> Fields:
    """The document's kind, and the places where the public may see it: by a place, and whether adults ask."""
    places = [
        place_term(kind, place, adult=not is_seen(place, False))
        for place in EVERYWHERE
        if is_seen(place, False) or is_seen(place, True)
    ]
    return {"kind": kind, "place": places}


def unless_hidden(effect: Effect) -> Callable[[Place, bool], bool]:
    """Where the public sees what has no audience of its own, after what follows from its labels."""
    return lambda place, adult: effect == "none" or (effect == "adult" and (adult or place == "direct"))


def result_fields(
    kind: Kind, name: Fields, count: int, public_id: int, hit: dict[str, Any], *, adult: bool = False
) -> Fields:
    """The fields of a searchable document besides its terms: popularity, and the card of the result."""
    return {
        **name,
        "kind": [kind, *([] if kind == "track" else [OTHER]), *([ADULT] if adult else [])],
        "popular": popular_key(round_count(count), public_id),
        "heat": heats(count),
        "card": open_card(hit),
    }


def term_fields(
    names: Sequence[str],
    beside: Mapping[Scope, Sequence[str]] = MappingProxyType({}),
    prose: str | None = None,
    scope: Scope | None = None,
) -> Fields:
    """The search terms of a document: from its own names, related names (`beside`), and a longer text.

    `scope`: what its own names are names of; None for those of tracks and playlists.
    """
    own = [_name(name) for name in dict.fromkeys(names) if name]
    scoped = {kind: [_name(name) for name in dict.fromkeys(given) if name] for kind, given in beside.items()}
    if scope is not None:
        scoped[scope] = [*own, *scoped.get(scope, ())]
    every = list(dict.fromkeys([*own, *chain.from_iterable(scoped.values())]))
    whole = [name.whole for name in own]
    words = " ".join([name.words for name in every])
    near = [WHOLE + rest for name in whole for rest in search_text.whole_rests(name)]
    return {
        "size": name_size(own[0].length, len(own[0].whole)) if own else 0,
        "exact": whole,
        "exact_starts": whole,
        "near": " ".join([*near, *(name.near for name in every), *(name.far for name in own)]),
        "title": " ".join([name.words for name in own]),
        "title_starts": [word for name in own for word in name.spaced],
        "names": f" {BETWEEN_NAMES} ".join([name.words for name in every]),
        "names_starts": [word for name in every for word in name.spaced],
        "ends": " ".join([name.ends for name in own]),
        "scoped": " ".join([*_scoped(scoped), *_counts(own[:1])]),
        "text": " ".join([words, *dict.fromkeys(search_text.split_words(prose))]) if prose else words,
    }


def _scoped(names: Mapping[Scope, Sequence["_Name"]]) -> Iterator[str]:
    for scope, given in names.items():
        for word in dict.fromkeys(word for name in given for word in name.words.split()):
            yield scoped_word(scope, word)


def _counts(names: Iterable["_Name"]) -> Iterator[str]:
    for name in names:
        yield word_count(name.length)
        yield letter_count(len(name.whole))


class _Name(NamedTuple):
    """The search terms of one name, and the number of its words."""

    whole: str
    words: str
    spaced: tuple[str, ...]
    near: str
    far: str
    ends: str
    length: int


@lru_cache(maxsize=8192)  # artists' names and tags come again and again
def _name(name: str) -> _Name:
    words = search_text.split_words(name)
    spaced = tuple(word for word in words if not search_text.is_unspaced(word))
    once = dict.fromkeys(spaced)
    far = (word for word in once if len(word) in search_text.FAR_LETTERS)
    return _Name(
        search_text.squeeze_name(name),
        " ".join(words),
        spaced,
        near=" ".join([rest for word in once for rest in search_text.letter_deletions(word)]),
        far=" ".join([rest for word in far for rest in search_text.two_deletions(word)]),
        ends=" ".join([end for word in once for end in search_text.word_ends(word)]),
        length=len(search_text.split_runs(name)),
    )
