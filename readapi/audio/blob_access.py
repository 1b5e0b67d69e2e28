"""Access to private audio blobs: the grant to fetch one, and the card of a track in a Space."""

from typing import Protocol

from readapi.errors import ApiError
from schemas.access import Access
from schemas.ids import Cid, Did
from schemas.spaces import Space
from schemas.stored import Card, read_access


class BlobAccess(Protocol):
    """A grant to fetch a private blob of the Space `name`; everyone entitled to it shares the cache."""

    @property
    def name(self) -> str: ...

    def request(self, server: str, did: Did, cid: Cid) -> tuple[str, dict[str, str]]:
        """The URL of the blob on this server, and the headers of the request."""

    def refused(self) -> ApiError:
        """The error to raise when the server refuses the request."""


class SpaceCard(Card):
    """A track in a Space. `entry`: the viewer's grant to fetch its audio blob."""

    __slots__ = ("_entry", "_space")

    def __init__(self, packed: memoryview, base_url: str, space: Space, entry: BlobAccess | None) -> None:
        super().__init__(packed, base_url)
        self._space = space
        self._entry = entry

    @property
    def access(self) -> Access:
        """The Space decides who may see and hear the track, whatever its record says."""
        said = read_access(self.did, self.policy)
        return Access(said.artist, "space", said.downloads, "private", space=self._space)

    @property
    def entry(self) -> BlobAccess | None:
        return self._entry
