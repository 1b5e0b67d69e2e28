"""Memory that nobody uses any more and that the C library holds: half of a process's, after a burst.

The only module here that acts. Every long-lived process needs it, and indexer and readapi share nothing else.
"""

import asyncio
import ctypes
from typing import Final

SECONDS: Final = 60.0
_TRIM: Final = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's; others give back by themselves


def give_back() -> None:
    """Let the system have it. Threads that allocate wait meanwhile: a millisecond for each ten megabytes."""
    if _TRIM is not None:
        _TRIM(0)


async def keep_giving_back(seconds: float = SECONDS) -> None:
    """Do it again after each pause, beside the event loop."""
    while True:
        await asyncio.sleep(seconds)
        await asyncio.to_thread(give_back)
