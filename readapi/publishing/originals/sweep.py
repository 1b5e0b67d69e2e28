"""Sweeps the audio store regularly: deletes released files and counts orphans."""

import contextlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog

from readapi.audio.store import AudioStore
from readapi.publishing.originals.orphans import Orphans
from readapi.publishing.originals.references import Originals
from readapi.state.state import State

log = structlog.get_logger()

GRACE = timedelta(hours=1)  # in which a request's body must make progress
COUNT_AGAIN = timedelta(days=1)  # a listing of the whole store costs a request for each thousand files


class OrphanSweep:
    """Deletes released files only; orphans stay."""

    def __init__(
        self,
        state: State,
        store: AudioStore,
        originals: Originals,
        receiving: Path,
        grace: timedelta = GRACE,
        is_steady: Callable[[], bool] = lambda: True,
    ) -> None:
        """`receiving`: the folder of request bodies that are being received.

        `is_steady`: whether the clock can be trusted. Otherwise nothing is deleted because of its age.
        """
        self._state = state
        self._originals = originals
        self._orphans = Orphans(state, store)
        self._receiving = receiving
        self._grace = grace
        self._is_steady = is_steady

    async def sweep(self) -> None:
        """Remove old settled jobs, aborted requests and released files."""
        await self._state.uploads.forget_old()
        await self._state.jobs.forget_old()
        if self._is_steady():
            self._sweep_receiving()
            await self._originals.trash.empty()
        await self._count()

    def _sweep_receiving(self) -> None:
        """Delete request bodies that were not received in full."""
        until = (datetime.now(UTC) - self._grace).timestamp()
        for path in self._receiving.glob("*"):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < until:
                    path.unlink()

    async def _count(self) -> None:
        """Count and log orphans: after a restored backup they may be the only originals."""
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
