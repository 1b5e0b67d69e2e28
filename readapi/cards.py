"""One document of the index: what is stored of it, taken apart when asked for."""

import orjson

from schemas import stored
from schemas.access import Access
from schemas.ids import Did


class Card:
    """A track, artist, album, playlist or tag. `schemas.stored` tells what its parts are."""

    __slots__ = ("_stored",)

    def __init__(self, packed: bytes) -> None:
        self._stored = stored.unpack(packed)

    @property
    def digest(self) -> bytes:
        return self._stored.digest

    @property
    def doc(self) -> str:
        return self._stored.doc.decode()

    @property
    def key(self) -> int:
        """Of tracks and lists."""
        return int(self._stored.doc.partition(b":")[2])

    @property
    def did(self) -> Did:
        return Did(self._stored.did.decode())

    @property
    def card(self) -> bytes:
        return self._stored.card

    @property
    def proof(self) -> bytes:
        return self._stored.proof

    @property
    def policy(self) -> bytes:
        """A track's access, as it is stored."""
        return self._stored.access

    @property
    def access(self) -> Access:
        """Who may see, hear and download a track. Everything else is open."""
        return access(self.did, self._stored.access)

    @property
    def thumb(self) -> tuple[int, int] | None:
        """The picture's width and height."""
        width, _, height = self._stored.thumb.partition(b"x")
        return (int(width), int(height)) if width else None

    @property
    def items(self) -> tuple[int, ...]:
        """The keys of a list's tracks."""
        return tuple(orjson.loads(self._stored.items or b"[]"))


def access(did: Did, policy: bytes) -> Access:
    """What an artist decided, from how it is stored."""
    return Access(did, *policy.decode().split())  # type: ignore[arg-type]  # the indexer's words
