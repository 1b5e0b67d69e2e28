"""Finds orphans: files in the audio store without a row in the database. They are reported, never deleted."""

from collections.abc import AsyncIterator

from readapi.audio.store import AudioStore, StoredFile
from readapi.state.publishing.file_keys import FOLDERS
from readapi.state.state import State

AT_ONCE = 500  # keys looked up in one query


class Orphans:
    """Files that are neither referenced, nor released, nor expected."""

    def __init__(self, state: State, store: AudioStore) -> None:
        self._files = state.stored_files
        self._store = store

    async def found(self) -> AsyncIterator[StoredFile]:
        """All orphans, from one listing of the store."""
        waiting: list[StoredFile] = []
        for folder in FOLDERS:
            async for file in self._store.keys(folder):
                waiting.append(file)
                if len(waiting) == AT_ONCE:
                    for one in await self._strangers(waiting):
                        yield one
                    waiting.clear()
        for one in await self._strangers(waiting):
            yield one

    async def _strangers(self, files: list[StoredFile]) -> list[StoredFile]:
        known = await self._files.spoken_of([file.key for file in files])
        return [file for file in files if file.key not in known]
