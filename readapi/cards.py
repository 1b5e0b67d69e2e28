"""One document of the index, as the API knows it."""

from schemas.access import Access
from schemas.ids import Did
from schemas.stored import Stored


class Card(Stored):
    """A track, artist, album, playlist or tag."""

    __slots__ = ()

    @property
    def key(self) -> int:
        """Of tracks and lists."""
        return int(self.doc.partition(":")[2])

    @property
    def access(self) -> Access:
        """Who may see, hear and download a track. Everything else is open."""
        return access(self.did, self.policy)


def access(did: Did, policy: bytes) -> Access:
    """What an artist decided, from how it is stored."""
    return Access(did, *policy.decode().split())  # type: ignore[arg-type]  # the indexer's words
