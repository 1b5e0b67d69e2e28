"""What serves, on a thread of its own, for tests whose library calls it without a loop."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.readapi.music import Music, playing

Served = TypeVar("Served")


@contextmanager
def on_a_thread(
    serving: AbstractAsyncContextManager[Served], seconds: float = 60
) -> Iterator[tuple[Served, asyncio.AbstractEventLoop]]:
    """Keep it open for as long as the block runs, on a loop that takes more work."""
    opened: Future[Served] = Future()
    stop = asyncio.Event()

    async def serve() -> None:
        try:
            async with serving as served:
                opened.set_result(served)
                await stop.wait()
        except BaseException as error:
            if opened.done():
                raise
            opened.set_exception(error)

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = threading.Thread(target=runner.run, args=(serve(),))
        thread.start()
        try:
            yield opened.result(seconds), loop
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join()


@contextmanager
def threaded(folder: Path, **fields: Any) -> Iterator[Music]:
    """Serve a little music for as long as the block runs."""
    with on_a_thread(playing(folder, **fields)) as (music, _):
        yield music
