"""Files of the audio store that nothing speaks of. They are never deleted; people are told of them."""

from collections.abc import AsyncIterator

from readapi.audio.keys import FOLDERS
from readapi.audio.store import AudioStore, StoredFile
from readapi.state.state import State

AT_ONCE = 500  # keys asked for together


class Orphans:
    """Neither needed, nor released, nor about to be held."""

    def __init__(self, state: State, store: AudioStore) -> None:
        self._files = state.stored_files
        self._store = store

    async def found(self) -> AsyncIterator[StoredFile]:
        """All of them, from one listing of the store."""
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
