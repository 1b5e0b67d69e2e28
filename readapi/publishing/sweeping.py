"""The regular round through the audio store: released files are deleted, others without an owner counted."""

import contextlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog

from readapi.audio.store import AudioStore
from readapi.publishing.originals import Originals
from readapi.publishing.orphans import Orphans
from readapi.state.state import State

log = structlog.get_logger()

GRACE = timedelta(hours=1)  # in which a request's body must come further
COUNT_AGAIN = timedelta(days=1)  # a listing of the whole store costs a request for each thousand files


class Sweeping:
    """Deletes what was released, and nothing for the reason that nobody knows it."""

    def __init__(
        self,
        state: State,
        store: AudioStore,
        originals: Originals,
        receiving: Path,
        grace: timedelta = GRACE,
        is_steady: Callable[[], bool] = lambda: True,
    ) -> None:
        """`receiving`: the folder of files that are on their way to us.

        `is_steady`: can the clock be believed? While it cannot, nothing goes for its age.
        """
        self._state = state
        self._originals = originals
        self._orphans = Orphans(state, store)
        self._receiving = receiving
        self._grace = grace
        self._is_steady = is_steady

    async def sweep(self) -> None:
        """Once through what is over: settled work, broken-off requests, released files."""
        await self._state.uploads.forget_old()
        await self._state.jobs.forget_old()
        if self._is_steady():
            self._sweep_receiving()
            await self._originals.trash.empty()
        await self._count()

    def _sweep_receiving(self) -> None:
        """What nobody finished sending, or we did not finish taking."""
        until = (datetime.now(UTC) - self._grace).timestamp()
        for path in self._receiving.glob("*"):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < until:
                    path.unlink()

    async def _count(self) -> None:
        """Tell of files that belong to nothing: after a restored backup they may be the only originals."""
        known, now = await self._state.audio_store.find(), self._state.database.now()
        if known.counted_at is not None and known.counted_at > now - COUNT_AGAIN:
            return
        await self._originals.pairing.check()
        orphans = [file async for file in self._orphans.found()]
        size = sum(file.size for file in orphans)
        await self._state.audio_store.tell(orphans=len(orphans), orphan_bytes=size, counted_at=now)
        if orphans:
            log.warning(
                "files in the audio store belong to nothing; they are kept", files=len(orphans), bytes=size
            )
