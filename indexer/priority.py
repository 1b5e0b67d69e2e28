"""The priority of threads: work for which no client waits gives way to the rest."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

TASKS: Final = Path("/proc/self/task")  # a folder for each thread of this process
MUCH: Final = 10  # about a tenth of what other threads get that want the same core


def lower_priority(thread: int, by: int) -> None:
    """Lower the priority of a thread of this process to `by` below the process's.

    Only Linux has a priority for each thread. Nothing depends on it: where the system refuses, or the thread
    has just ended, nothing changes.
    """
    if TASKS.exists():
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, os.getpid()) + by)


def thread_aside(name: str) -> ThreadPoolExecutor:
    """An executor with one thread, of low priority."""
    return ThreadPoolExecutor(1, name, lambda: lower_priority(threading.get_native_id(), MUCH))
