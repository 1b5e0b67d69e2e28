"""What the record of a published track says of it, changed by its artist. Audio and access stay."""

from readapi.authoring import tracks as authoring
from readapi.oauth.network import Network
from readapi.pds import Author, Pds
from readapi.publishing.shelving import Shelving
from readapi.search import Index
from readapi.writing import Writing
from schemas.api.tracks import TrackChange
from schemas.ids import AtUri


class Describing:
    """The index takes an album's tracks from its list, so a change of album changes the lists as well."""

    def __init__(
        self, pds: Pds, writing: Writing, shelving: Shelving, index: Index, network: Network
    ) -> None:
        self._pds = pds
        self._writing = writing
        self._shelving = shelving
        self._index = index
        self._network = network

    async def change(self, author: Author, track: AtUri, wanted: TrackChange) -> None:
        """Make the changes that are named, in one commit.

        Raises NotFound, Conflict, InvalidRequest, TooLarge, and what `Pds` raises.
        """
        change = await authoring.change(wanted, self._pds, author, self._index, self._network)
        if wanted.album is None:
            await self._writing.edit(author, track.collection, track.rkey, change)
        else:
            await self._shelving.move(author, track, change, wanted.album)
