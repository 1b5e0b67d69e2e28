"""Runs one sandboxed process for one untrusted file, and reads the JSON objects that it prints."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson

from readapi.audio.decoding.formats import Interrupted

_LINE_BYTES = 32 << 20  # a cover, in base64
_ENDED = "This file could not be processed within the time and memory limits."
_TOO_MUCH_WORK = "This file takes too long to process."

Progress = Callable[[float], None]
Message = dict[str, Any]


async def run_sandboxed(
    module: str, files: Sequence[str], seconds: int, cpu_seconds: int, progress: Progress = lambda _: None
) -> Message:
    """The process's last message, with `refused`, a sentence, where the file was not accepted.

    `module`: run with the limit of CPU time and the files as its arguments. Raises Interrupted.
    """
    try:
        async with asyncio.timeout(seconds), _reader(module, cpu_seconds, files) as process:
            assert process.stdout is not None
            async for line in process.stdout:
                message: Message = orjson.loads(line)
                if "progress" not in message:
                    return message
                progress(message["progress"])
            if await process.wait() == -signal.SIGXCPU:
                return {"refused": _TOO_MUCH_WORK}
    except TimeoutError:
        pass
    raise Interrupted(_ENDED)


@asynccontextmanager
async def _reader(
    module: str, cpu_seconds: int, files: Sequence[str]
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The sandboxed process; it ends with the block, and with the process that started it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", module, str(cpu_seconds), *files),
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
