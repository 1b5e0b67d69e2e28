"""Makes the sizes of untrusted pictures in sandboxed processes, a few at a time."""

import asyncio
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

from readapi.audio.decoding.formats import Interrupted
from readapi.audio.decoding.process import run_sandboxed

SECONDS: Final = 30  # wall-clock time, enough on a busy machine
CPU_SECONDS: Final = 10
AT_ONCE: Final = 2
PROCESS: Final = "readapi.pictures.resize_process"

_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def resize_picture(source: Path) -> Mapping[int, bytes] | None:
    """A WebP for each side; None for what is no picture, or takes too much memory or time."""
    turns = _TURNS.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE))
    try:
        async with turns:
            message = await run_sandboxed(PROCESS, [str(source)], SECONDS, CPU_SECONDS)
    except Interrupted:
        return None
    if "refused" in message:
        return None
    return {int(side): b64decode(content) for side, content in message["made"].items()}
