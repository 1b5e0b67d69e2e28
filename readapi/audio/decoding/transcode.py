"""Probes and transcodes untrusted files in sandboxed processes, a few at a time."""

import asyncio
import os
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from readapi.audio.decoding.formats import NotAudio, Probed
from readapi.audio.decoding.process import Progress, run_sandboxed

EXAMINE_SECONDS = 60  # wall-clock time, enough on a busy machine
EXAMINE_CPU_SECONDS = 10
EXAMINED_AT_ONCE = 4
RENDER_SECONDS = 3600
RENDERED_AT_ONCE = 2
LONG_SECONDS = 1800  # longer recordings are transcoded one at a time, beside the others
LONG_RENDERED_AT_ONCE = 1
SPARE_CPU_SECONDS = 60  # of a transcode, in addition to those for its duration
LEAST_SPEED = 20  # seconds of audio transcoded in one second of CPU time
PROCESS = "readapi.audio.decoding.transcode_process"


class _Turns:
    """Limits of concurrent processes: for probing, for transcoding, and for transcoding long files."""

    def __init__(self) -> None:
        self.examining = asyncio.Semaphore(EXAMINED_AT_ONCE)
        self.rendering = asyncio.Semaphore(RENDERED_AT_ONCE)
        self.long = asyncio.Semaphore(LONG_RENDERED_AT_ONCE)


_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns] = WeakKeyDictionary()


async def examine_file(
    source: Path, seconds: int = EXAMINE_SECONDS, cpu_seconds: int = EXAMINE_CPU_SECONDS
) -> Probed:
    """Probe a file within the time limits, EXAMINED_AT_ONCE at a time. Raises NotAudio."""
    async with _turns().examining:
        return await _run_process([str(source)], seconds, cpu_seconds, lambda _: None)


async def render_file(source: Path, target: Path, length: int | None, progress: Progress) -> Probed:
    """Transcode a file to a rendition and probe the result. Raises NotAudio.

    `length`: the recording's duration in seconds, if known. It decides which queue the file waits in, and
    how much CPU time it may take. `progress` is called with the part that is done.
    """
    long = length is None or length > LONG_SECONDS
    cpu_seconds = RENDER_SECONDS if length is None else SPARE_CPU_SECONDS + length // LEAST_SPEED
    files = [str(source), str(target)]
    try:
        async with _turns().long if long else _turns().rendering:
            made = await _run_process(files, RENDER_SECONDS, min(cpu_seconds, RENDER_SECONDS), progress)
        # The process that made it may have been another user.
        await asyncio.to_thread(os.chown, target, os.geteuid(), os.getegid())
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return made


async def missing_limits() -> list[str]:
    """The names of the sandbox's limits that this machine does not offer; see `sandbox`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "readapi.audio.decoding.sandbox",
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": os.defpath},
    )
    message, _ = await process.communicate()
    return message.decode().split() if process.returncode == 0 else ["jail"]


def _turns() -> _Turns:
    return _TURNS.setdefault(asyncio.get_running_loop(), _Turns())


async def _run_process(files: list[str], seconds: int, cpu_seconds: int, progress: Progress) -> Probed:
    message = await run_sandboxed(PROCESS, files, seconds, cpu_seconds, progress)
    if "refused" in message:
        raise NotAudio(message["refused"])
    return _probed(message["probed"])


def _probed(message: dict[str, Any]) -> Probed:
    cover = None if message["cover"] is None else b64decode(message["cover"])
    return Probed(**message | {"cover": cover})
