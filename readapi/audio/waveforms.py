"""How loud each part of a track is, for the drawing beside its player: measured after its first stream.

Measured once, of a recording that a listener was allowed, in a sandboxed process; kept in a folder of the
data folder. A track's is found by its at-uri and its audio, so that a record that names another's audio
gets none before its own stream succeeds.
"""

import asyncio
import hashlib
import os
from base64 import b64decode
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import structlog

from readapi.audio.cache_folder import arriving, make_room
from readapi.audio.decoding.formats import Interrupted
from readapi.audio.decoding.process import run_sandboxed
from readapi.audio.source import AudioSource
from schemas.audio import BARS
from schemas.ids import Cid

FOLDER: Final = "waveforms"
MAX_BYTES: Final = 16 << 20  # some 80,000 tracks
MOST_WAITING: Final = 50
SECONDS: Final = 300
CPU_SECONDS: Final = 60
PROCESS: Final = "readapi.audio.decoding.waveform_process"

log = structlog.get_logger()


class Waveforms:
    """The measured tracks, and the tracks to be measured, one at a time. What does not fit in is left out."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER
        self._turn = asyncio.Semaphore(1)
        self._waiting: dict[str, asyncio.Task[None]] = {}

    def peaks(self, track: str, audio: Cid) -> bytes | None:
        """BARS numbers from 0 to 255; None if they are not measured. `audio`: of its original."""
        try:
            peaks = self._path(track, audio).read_bytes()
        except FileNotFoundError:
            return None
        return peaks if len(peaks) == BARS else None

    def measure(self, track: str, audio: Cid, source: AudioSource) -> None:
        """Measure a track's audio soon, unless that was tried before."""
        path = self._path(track, audio)
        if path.name in self._waiting or len(self._waiting) >= MOST_WAITING or path.exists():
            return
        task = self._waiting[path.name] = asyncio.create_task(self._measure(path, source))
        task.add_done_callback(lambda done: self._settled(path.name, done))

    def forget(self, track: str, audio: Cid) -> None:
        """Delete what was measured of a deleted track."""
        self._path(track, audio).unlink(missing_ok=True)

    async def close(self) -> None:
        """Cancel what is waiting or running."""
        tasks = list(self._waiting.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _path(self, track: str, audio: Cid) -> Path:
        return self._folder / hashlib.sha256(f"{track} {audio}".encode()).hexdigest()

    def _settled(self, name: str, done: "asyncio.Task[None]") -> None:
        del self._waiting[name]
        if not done.cancelled() and (error := done.exception()) is not None:
            log.warning("waveform not measured", error=str(error)[:200])

    async def _measure(self, path: Path, source: AudioSource) -> None:
        """Store the peaks; an empty file for audio that cannot be measured."""
        async with self._turn, AsyncExitStack() as stack:
            if source.file is None:
                local = await stack.enter_async_context(source.store.local(source.key))
            else:
                local = Path(f"/proc/{os.getpid()}/fd/{source.file.number}")
            try:
                message = await run_sandboxed(PROCESS, [str(local)], SECONDS, CPU_SECONDS)
            except Interrupted:
                message = {}
            await asyncio.to_thread(self._keep, path, b64decode(message.get("peaks", "")))

    def _keep(self, path: Path, peaks: bytes) -> None:
        with arriving(path) as part:
            part.write_bytes(peaks)
            part.replace(path)
        make_room(self._folder, MAX_BYTES)
