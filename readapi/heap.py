"""Memory that nobody uses any more and that the C library holds: half of a worker's, after a burst."""

import ctypes
from typing import Final

SECONDS: Final = 60.0
_TRIM: Final = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's; others give back by themselves


def give_back() -> None:
    """Let the system have it. Everything stands still meanwhile: a millisecond for each ten megabytes."""
    if _TRIM is not None:
        _TRIM(0)
