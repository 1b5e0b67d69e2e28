"""The worker on a thread of its own, for tests whose library calls it without a loop."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.readapi.music import Music, playing


@contextmanager
def threaded(folder: Path, **fields: Any) -> Iterator[Music]:
    """Serve a little music for as long as the block runs."""
    ready, stop = threading.Event(), asyncio.Event()
    served: list[Music] = []

    async def serve() -> None:
        async with playing(folder, **fields) as music:
            served.append(music)
            ready.set()
            await stop.wait()

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = threading.Thread(target=runner.run, args=(serve(),))
        thread.start()
        try:
            assert ready.wait(60)
            yield served[0]
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join()
