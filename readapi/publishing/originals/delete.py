"""Deletes a track for its artist: the record first, then all files of its audio in the private store."""

from readapi.audio.select import AudioSelection
from readapi.index.queries import tracks
from readapi.pds.repo import Author
from readapi.pds.writing import Writing
from readapi.publishing.originals.references import Originals
from readapi.state.publishing.uploads import Uploads
from schemas.stored import Card


class TrackDeletion:
    """Files that an interruption leaves behind are found by `RecordReconciliation`."""

    def __init__(
        self, writing: Writing, originals: Originals, sources: AudioSelection, uploads: Uploads
    ) -> None:
        self._writing = writing
        self._originals = originals
        self._sources = sources
        self._uploads = uploads

    async def delete(self, author: Author, track: Card) -> None:
        """Delete a track. Raises what `Writing.delete` raises; then nothing has changed."""
        uri = tracks.track_uri(track)
        await self._writing.delete(author, uri.collection, uri.rkey)
        file_ids = await self._originals.files_of(uri)
        await self._originals.erase(uri)
        self._sources.forget(track, file_ids)
        await self._uploads.note_deletion(uri)
