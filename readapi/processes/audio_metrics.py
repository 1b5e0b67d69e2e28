"""Metrics of the audio store, from the job worker's last check of it."""

from readapi.metrics import Metrics
from readapi.state.state import State

SECONDS = 60.0


class AudioWatch:
    """Reads the state database periodically, since metrics are collected without awaiting."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._deleting, self._orphans, self._released = 1, 0, 0

    async def refresh(self) -> None:
        """Read the current values once."""
        known = await self._state.audio_store.find()
        self._deleting, self._orphans = int(known.refusal is None), known.orphans or 0
        self._released = await self._state.stored_files.count()

    def watch(self, metrics: Metrics) -> None:
        """Register the metrics."""
        metrics.watch(
            "fmsvc_audio_deleting", "Released audio is deleted; 0: none is.", lambda: self._deleting
        )
        metrics.watch("fmsvc_audio_released", "Audio files in the trash.", lambda: self._released)
        metrics.watch("fmsvc_audio_orphans", "Audio files that belong to nothing.", lambda: self._orphans)
