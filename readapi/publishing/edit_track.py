"""Edits the metadata in a published track's record. Audio and access stay."""

from readapi.index.lookups import Index
from readapi.oauth.network import Network
from readapi.pds.records import tracks as authoring
from readapi.pds.repo import Author, Pds
from readapi.pds.writing import Writing
from readapi.publishing.uploads.album_commit import AlbumCommit
from schemas.api.tracks import TrackChange
from schemas.ids import AtUri


class TrackEdit:
    """The index takes an album's tracks from its list, so a change of album changes the lists as well."""

    def __init__(
        self, pds: Pds, writing: Writing, album_commit: AlbumCommit, index: Index, network: Network
    ) -> None:
        self._pds = pds
        self._writing = writing
        self._album_commit = album_commit
        self._index = index
        self._network = network

    async def change(self, author: Author, track: AtUri, wanted: TrackChange) -> None:
        """Make the requested changes in one commit.

        Raises NotFound, Conflict, InvalidRequest, TooLarge, and what `Pds` raises.
        """
        change = await authoring.make_change(wanted, self._pds, author, self._index, self._network)
        if wanted.album is None:
            await self._writing.edit(author, track.collection, track.rkey, change)
        else:
            await self._album_commit.move(author, track, change, wanted.album)
