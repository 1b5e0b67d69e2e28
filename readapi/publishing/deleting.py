"""Tracks taken away by their artists: the record first, then everything that is kept of their audio here."""

from readapi.audio.sources import Sources
from readapi.pds import Author
from readapi.publishing.originals import Originals
from readapi.queries import tracks
from readapi.state.uploads import Uploads
from readapi.writing import Writing
from schemas.stored import Card


class Deleting:
    """What an interruption leaves is found by `Reconciling`."""

    def __init__(self, writing: Writing, originals: Originals, sources: Sources, uploads: Uploads) -> None:
        self._writing = writing
        self._originals = originals
        self._sources = sources
        self._uploads = uploads

    async def delete(self, author: Author, track: Card) -> None:
        """Delete one. Raises what `Writing.delete` raises; then everything is as it was."""
        uri = tracks.uri_of(track)
        await self._writing.delete(author, uri.collection, uri.rkey)
        file_ids = await self._originals.files_of(uri)
        await self._originals.erase(uri)
        self._sources.forget(track, file_ids)
        await self._uploads.note_deletion(uri)
