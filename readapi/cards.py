"""What the index stores of one thing, unpacked; and the ones that were unpacked before, kept."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import orjson
import tantivy
from tantivy import DocAddress

from schemas.access import Access
from schemas.ids import Did

T = TypeVar("T")

KEPT_BYTES = 24 << 20  # of cards and of results each, and once more for those that were in use before
_OVERHEAD = 300  # bytes that something kept costs besides its text


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


class Kept(Generic[T]):
    """What was unpacked before: as much as there is room for in use, and as much that was in use before."""

    def __init__(self, room_bytes: int, size: Callable[[T], int]) -> None:
        self._whole_room = self._room = room_bytes
        self._size = size
        self._young: dict[int, T] = {}
        self._old: dict[int, T] = {}

    def get(self, digest: int) -> T | None:
        """What is kept under a digest."""
        kept = self._young.get(digest)
        if kept is None and (kept := self._old.pop(digest, None)) is not None:
            self.put(digest, kept)
        return kept

    def put(self, digest: int, value: T) -> None:
        """Keep something."""
        self._room -= self._size(value) + _OVERHEAD
        if self._room < 0:
            self._old, self._young, self._room = self._young, {}, self._whole_room
        self._young[digest] = value


class Cards:
    """Unpacks documents. What a digest stands for never changes, so what is kept outlives commits."""

    def __init__(self) -> None:
        self._cards: Kept[Card] = Kept(KEPT_BYTES, _bytes_of)
        self._hits: Kept[bytes] = Kept(KEPT_BYTES, len)

    def unpack(
        self, searcher: tantivy.Searcher, addresses: list[DocAddress], digests: Sequence[int]
    ) -> list[Card]:
        """The documents at these addresses, in order."""
        return [
            self._cards.get(digest) or self._card(searcher, address, digest)
            for address, digest in zip(addresses, digests, strict=True)
        ]

    def hits(
        self, searcher: tantivy.Searcher, addresses: list[DocAddress], digests: Sequence[int]
    ) -> list[bytes]:
        """The search results of the documents at these addresses, in order: many more of them are kept."""
        return [
            self._hits.get(digest) or self._hit(searcher, address, digest)
            for address, digest in zip(addresses, digests, strict=True)
        ]

    def _card(self, searcher: tantivy.Searcher, address: DocAddress, digest: int) -> Card:
        card = _read(searcher.doc(address))
        self._cards.put(digest, card)
        return card

    def _hit(self, searcher: tantivy.Searcher, address: DocAddress, digest: int) -> bytes:
        hit = bytes(searcher.doc(address).get_first("hit") or b"")
        self._hits.put(digest, hit)
        return hit


def _bytes_of(card: Card) -> int:
    return len(card.card) + len(card.hit) + _OVERHEAD + 40 * len(card.items)


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
