"""Files of strangers, read in a process of its own: what is in them, and renditions of them."""

import asyncio
import os
import sys
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import orjson

from readapi.audio.recording import Interrupted, NotAudio, Probed

EXAMINE_SECONDS = 120
EXAMINED_AT_ONCE = 4
RENDER_SECONDS = 3600
_LINE_BYTES = 32 << 20  # a cover, in base64
_ENDED = "This file could not be read within the limits for one."

_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

Progress = Callable[[float], None]


async def examine(source: Path, seconds: int = EXAMINE_SECONDS) -> Probed:
    """What is in a file, if that can be found out in so long; a few at a time. Raises NotAudio."""
    turns = _TURNS.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(EXAMINED_AT_ONCE))
    async with turns:
        return await _read([str(source)], seconds, lambda _: None)


async def render(source: Path, target: Path, progress: Progress) -> Probed:
    """Make a rendition, telling now and then which part of it is done; what is in it. Raises NotAudio."""
    try:
        return await _read([str(source), str(target)], RENDER_SECONDS, progress)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


async def _read(files: list[str], seconds: int, progress: Progress) -> Probed:
    try:
        async with asyncio.timeout(seconds), _reader(seconds, files) as process:
            assert process.stdout is not None
            async for line in process.stdout:
                told = orjson.loads(line)
                if "progress" in told:
                    progress(told["progress"])
                elif "refused" in told:
                    raise NotAudio(told["refused"])
                else:
                    return _probed(told["probed"])
    except TimeoutError:
        pass
    raise Interrupted(_ENDED)


@asynccontextmanager
async def _reader(seconds: int, files: list[str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """The process; it ends with the block, and with the process that started it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "readapi.audio.render", str(seconds), *files),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=_LINE_BYTES,
        env={"PATH": os.defpath},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _probed(told: dict[str, Any]) -> Probed:
    cover = None if told["cover"] is None else b64decode(told["cover"])
    return Probed(**told | {"cover": cover})
