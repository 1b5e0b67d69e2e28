"""What the index stores of one thing, unpacked; and the ones that were unpacked before, kept."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
import tantivy
from tantivy import DocAddress

from schemas.access import Access
from schemas.ids import Did

KEPT_BYTES = 24 << 20  # of cards, twice: those in use, and those in use before
_OVERHEAD = 600  # bytes that a card costs besides its text


class Card(NamedTuple):
    """One document. `card` is ready-made JSON: complete, but for a track's closing brace.

    `hit` is the search result, without its relevance and the closing brace. `key` is 0 for artists and tags.
    `access` says who may see, hear and download a track; everything else is open.
    """

    doc: str
    key: int
    did: Did
    card: bytes
    hit: bytes
    access: Access
    thumb: tuple[int, int] | None
    items: tuple[int, ...]


class Cards:
    """Unpacks documents. What a digest stands for never changes, so cards outlive commits."""

    def __init__(self) -> None:
        self._young: dict[int, Card] = {}
        self._old: dict[int, Card] = {}
        self._room = KEPT_BYTES

    def unpack(
        self, searcher: tantivy.Searcher, addresses: list[DocAddress], digests: Sequence[int]
    ) -> list[Card]:
        """The documents at these addresses, in order."""
        return [
            self._young.get(digest) or self._unpack(searcher, address, digest)
            for address, digest in zip(addresses, digests, strict=True)
        ]

    def _unpack(self, searcher: tantivy.Searcher, address: DocAddress, digest: int) -> Card:
        card = self._old.get(digest) or _read(searcher.doc(address))
        self._room -= len(card.card) + len(card.hit) + _OVERHEAD
        if self._room < 0:
            self._old, self._young, self._room = self._young, {}, KEPT_BYTES
        self._young[digest] = card
        return card


def _read(document: tantivy.Document) -> Card:
    stored: dict[str, list[Any]] = document.to_dict()
    doc, did = stored["doc"][0], Did(stored["did"][0] if "did" in stored else "")
    kind, _, name = doc.partition(":")
    return Card(
        doc=doc,
        key=int(name) if kind in ("track", "list") else 0,
        did=did,
        card=_bytes(stored, "card"),
        hit=_bytes(stored, "hit"),
        access=_access(did, _bytes(stored, "access")),
        thumb=_size(_bytes(stored, "thumb")),
        items=tuple(orjson.loads(stored["items"][0])) if "items" in stored else (),
    )


def _bytes(stored: dict[str, list[Any]], name: str) -> bytes:
    values = stored.get(name)
    return values[0] if values else b""


def _access(did: Did, text: bytes) -> Access:
    return Access(did, *text.decode().split()) if text else Access(did)  # type: ignore[arg-type]


def _size(text: bytes) -> tuple[int, int] | None:
    width, _, height = text.partition(b"x")
    return (int(width), int(height)) if width else None
