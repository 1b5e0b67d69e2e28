"""Reads and writes a track's record in its artist's public repo or private Space."""

from readapi.pds.repo import Author, Pds, Value
from readapi.pds.writing import Writing
from readapi.publishing.uploads.album_commit import AlbumCommit
from readapi.spaces.repos import SpaceRepos
from readapi.state.publishing.space_tracks import SpaceTracks
from readapi.state.publishing.uploads import OnAlbum
from schemas.ids import AtUri
from schemas.spaces import InSpace


class RecordLocation:
    """The track's URI determines the place. All methods raise what `Pds` raises."""

    def __init__(
        self, pds: Pds, writing: Writing, album_commit: AlbumCommit, repos: SpaceRepos, known: SpaceTracks
    ) -> None:
        self._pds = pds
        self._writing = writing
        self._album_commit = album_commit
        self._repos = repos
        self._known = known

    async def get(self, author: Author, track: AtUri) -> Value | None:
        """The current record on the author's PDS."""
        if isinstance(track, InSpace):
            return await self._repos.get(author, track)
        record = await self._pds.get(author, track.collection, track.rkey)
        return None if record is None else record.value

    async def write(self, author: Author, track: AtUri, value: Value, album: OnAlbum | None) -> None:
        """Write the record of a new track and, in a public repo, the album that lists it."""
        if isinstance(track, InSpace):
            await self._repos.put(author, track, value)
        else:
            await self._album_commit.write(author, track, value, album)

    async def show(self, track: AtUri) -> bool:
        """Make the track available: wait for the index, or store the id of a track in a Space. Is it now?"""
        if not isinstance(track, InSpace):
            return await self._writing.shown(track)
        await self._known.put(track)
        return True
