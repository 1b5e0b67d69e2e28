"""The stored bytes of an index document: packed by the indexer, read in place by the API."""

import hashlib
from collections.abc import Mapping
from itertools import accumulate
from struct import Struct
from typing import Any, Final

import orjson

from schemas.access import Access
from schemas.ids import Did

NAMES: Final = (
    "access",
    "address",
    "thumb",
    "items",
    "proof",
    "audio",
    "found_by",
    "card",
)  # what is stored, beside what is searched
_HEAD: Final = Struct("<8s9I")  # the digest, and where each part ends but the last; counted from the first
_FIRST: Final = _HEAD.size  # where the first part begins
_CARD: Final = Struct(f"<{_HEAD.size - 4}xI")  # the end of the part before the card


def card_of(packed: memoryview) -> bytes:
    """The card of a document of which nothing else is needed."""
    (start,) = _CARD.unpack_from(packed)
    return packed[_FIRST + start :].tobytes()


class Stored:
    """One stored document. Absent parts are empty; `digest` changes with any part.

    `base_url`: the prefix of the serving instance's addresses, which is not stored. `rendered`: kept for the
    program that renders documents, since cards of many requests are; None at first.
    """

    __slots__ = ("_ends", "_in_lists", "_packed", "base_url", "digest", "rendered")

    digest: bytes
    rendered: Any
    _in_lists: tuple[bytes, bytes, memoryview] | None

    def __init__(self, packed: memoryview, base_url: str = "") -> None:
        self.base_url = base_url
        self._packed = packed
        self._ends = _HEAD.unpack_from(packed)
        self._in_lists = self.rendered = None
        self.digest = self._ends[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stored) and self.digest == other.digest and self._packed == other._packed

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def doc(self) -> str:
        """The document's name."""
        return self._packed[_FIRST : _FIRST + self._ends[1]].tobytes().decode()

    def is_named(self, beginning: bytes) -> bool:
        """Whether the document's name begins so, as each kind's names do."""
        return bool(self._packed[_FIRST : _FIRST + len(beginning)] == beginning)

    @property
    def did(self) -> Did:
        """The owner's DID."""
        return Did(self._part(1).decode())

    @property
    def policy(self) -> bytes:
        """A track's listening, downloads, visibility, and labels' effect; of others the effect alone."""
        ends = self._ends
        return self._packed[_FIRST + ends[2] : _FIRST + ends[3]].tobytes()

    @property
    def address(self) -> bytes:
        """The track's name in URLs of this service: its id and check."""
        return self._part(3)

    @property
    def thumb(self) -> tuple[int, int] | None:
        """The picture's width and height."""
        width, _, height = self._part(4).partition(b"x")
        return (int(width), int(height)) if width else None

    @property
    def items(self) -> tuple[int, ...]:
        """The keys of a list's tracks."""
        return tuple(orjson.loads(self._part(5) or b"[]"))

    @property
    def proof(self) -> bytes:
        """How a track's record was verified, as JSON."""
        return self._part(6)

    @property
    def audio(self) -> bytes:
        """The location of a track's audio by its record, as JSON, for internal use."""
        return self._part(7)

    @property
    def found_by(self) -> bytes:
        """What a track is found by besides its card, as JSON, for the indexer."""
        return self._part(8)

    @property
    def card(self) -> bytes:
        """Prepared JSON: complete except for the closing brace of a track and of a search result."""
        return self.card_in_place.tobytes()

    @property
    def card_in_place(self) -> memoryview:
        """The same without a copy, for callers that copy it anyway."""
        return self._packed[_FIRST + self._ends[-1] :]

    @property
    def in_lists(self) -> tuple[bytes, bytes, memoryview]:
        """`policy`, `address` and `card_in_place` in one step: what a list needs of each of its tracks.

        Kept, since cards of many requests are.
        """
        if self._in_lists is None:
            _, _, did, policy, address, _, _, _, _, found_by = self._ends
            both = self._packed[_FIRST + did : _FIRST + address].tobytes()
            self._in_lists = both[: policy - did], both[policy - did :], self._packed[_FIRST + found_by :]
        return self._in_lists

    def _part(self, number: int) -> bytes:
        """One part but the first and the last."""
        return self._packed[_FIRST + self._ends[number] : _FIRST + self._ends[number + 1]].tobytes()


class Card(Stored):
    """A track, artist, album, playlist or tag."""

    __slots__ = ()

    @property
    def key(self) -> int:
        """The key of a track or a list."""
        return int(self.doc.partition(":")[2])

    @property
    def access(self) -> Access:
        """Who may see, hear and download a track. Everything else is open."""
        return read_access(self.did, self.policy)

    @property
    def is_adult(self) -> bool:
        """Do labels say that it is for adults?"""
        return self.policy.endswith(b"adult")


def read_access(did: Did, policy: bytes) -> Access:
    """Parse the stored access settings."""
    return Access(did, *policy.decode().split())  # type: ignore[arg-type]  # the indexer's words


def pack_document(fields: Mapping[str, Any]) -> bytes:
    """The bytes for a document's fields."""
    texts = (fields["doc"].encode(), fields.get("did", "").encode())
    parts = [*texts, *[fields.get(name, b"") for name in NAMES]]
    ends = list(accumulate(map(len, parts[:-1])))
    content = b"".join(parts)
    digest = hashlib.blake2b(repr(ends).encode() + content, digest_size=8).digest()
    return _HEAD.pack(digest, *ends) + content
