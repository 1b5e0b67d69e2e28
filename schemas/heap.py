"""Returns freed memory that the C library holds to the system: half of a process's, after a burst.

Every long-lived process needs it, and indexer and readapi share no package but `schemas`.
"""

import asyncio
import ctypes
from typing import Final

SECONDS: Final = 60.0
ARENAS: Final = 2
# Above those of 256 KiB and 1 MiB that DuckDB and Tantivy use again and again: to take each of them from
# the system costs three times as many page faults.
BLOCK_BYTES: Final = 2 << 20
_ARENA_MAX: Final = -8  # of malloc.h
_MMAP_THRESHOLD: Final = -3
# glibc only; other C libraries return memory by themselves.
_TRIM: Final = getattr(ctypes.CDLL(None), "malloc_trim", None)
_OPTION: Final = getattr(ctypes.CDLL(None), "mallopt", None)


def bound_arenas() -> None:
    """Limit malloc's arenas and the size of blocks in them; call it before threads start.

    By default glibc has eight arenas for each core, and no thread uses what is free in another's: each keeps
    its own store of the buffers that DuckDB and Tantivy take and free. And once a block of up to 32 MB was
    freed, more blocks of that size come from the arenas, too, and are not given back.
    """
    if _OPTION is not None and _TRIM is not None:
        _OPTION(_ARENA_MAX, ARENAS)
        _OPTION(_MMAP_THRESHOLD, BLOCK_BYTES)


def trim_memory() -> None:
    """Return free memory. Threads that allocate wait meanwhile: a millisecond for each ten megabytes."""
    if _TRIM is not None:
        _TRIM(0)


async def keep_trimming(seconds: float = SECONDS) -> None:
    """Call `trim_memory` periodically, in a thread beside the event loop."""
    while True:
        await asyncio.sleep(seconds)
        await asyncio.to_thread(trim_memory)
