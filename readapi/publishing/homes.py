"""Where a track's record lies: in its artist's public repo, or in their private Space."""

from readapi.pds import Author, Pds, Value
from readapi.publishing.shelving import Shelving
from readapi.spaces.repos import SpaceRepos
from readapi.state.space_tracks import SpaceTracks
from readapi.state.uploads import OnAlbum
from readapi.writing import Writing
from schemas.ids import AtUri
from schemas.spaces import InSpace


class Homes:
    """The track's address tells which. All raise what `Pds` raises."""

    def __init__(
        self, pds: Pds, writing: Writing, shelving: Shelving, repos: SpaceRepos, known: SpaceTracks
    ) -> None:
        self._pds = pds
        self._writing = writing
        self._shelving = shelving
        self._repos = repos
        self._known = known

    async def get(self, author: Author, track: AtUri) -> Value | None:
        """The record as it is there now."""
        if isinstance(track, InSpace):
            return await self._repos.get(author, track)
        record = await self._pds.get(author, track.collection, track.rkey)
        return None if record is None else record.value

    async def write(self, author: Author, track: AtUri, value: Value, album: OnAlbum | None) -> None:
        """Write the record of a new track, and in public the album that it goes on."""
        if isinstance(track, InSpace):
            await self._repos.put(author, track, value)
        else:
            await self._shelving.write(author, track, value, album)

    async def show(self, track: AtUri) -> bool:
        """Let it be found: by everybody, or by those who know its id and whom the Space lets in. Is it?"""
        if not isinstance(track, InSpace):
            return await self._writing.shown(track)
        await self._known.put(track)
        return True
