"""Files in the store that are nobody's: left by what was interrupted at the wrong moment."""

import contextlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog

from readapi.audio import keys
from readapi.audio.store import AudioStore, StoredFile
from readapi.publishing.originals import Originals
from readapi.state.state import State

log = structlog.get_logger()

PART = ".part"  # how names of files end that are not whole
GRACE = timedelta(hours=1)  # a file may be there for so long before anybody says whose it is


class Sweeping:
    """Deletes nothing that is younger than the grace period."""

    def __init__(
        self, state: State, store: AudioStore, originals: Originals, receiving: Path, grace: timedelta = GRACE
    ) -> None:
        """`receiving`: the folder of files that are on their way to us."""
        self._state = state
        self._store = store
        self._originals = originals
        self._receiving = receiving
        self._grace = grace

    async def sweep(self) -> None:
        """Once through the store, and through what was settled long ago."""
        await self._state.uploads.forget_old()
        await self._state.jobs.forget_old()
        self._sweep_receiving()
        await self._sweep_received()
        stale = [file for folder in (keys.ORIGINALS, keys.RENDITIONS) for file in await self._old(folder)]
        for file in stale:
            if file.key.endswith(PART):
                await self._store.delete(file.key)
        await self._originals.release(sorted({keys.file_in(file.key) for file in stale}))

    def _sweep_receiving(self) -> None:
        """What nobody finished sending, or we did not finish taking."""
        until = (datetime.now(UTC) - self._grace).timestamp()
        for path in self._receiving.glob("*"):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < until:
                    path.unlink()

    async def _sweep_received(self) -> None:
        files = await self._old(keys.INCOMING)
        waiting = await self._state.uploads.unfinished()
        for upload_id in {keys.upload_in(file.key) for file in files} - waiting:
            log.info("nobody's upload is dropped", upload=upload_id)
            await self._originals.drop_received(upload_id)

    async def _old(self, folder: str) -> list[StoredFile]:
        until = datetime.now(UTC) - self._grace
        return [file async for file in self._store.keys(folder) if file.modified < until]
