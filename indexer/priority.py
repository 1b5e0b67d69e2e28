"""The priority of threads: work for which no client waits gives way to the rest."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

TASKS: Final = Path("/proc/self/task")  # a folder for each thread of this process
MUCH: Final = 10  # about a tenth of what other threads get that want the same core

Answer = TypeVar("Answer")


def lower_priority(thread: int, by: int) -> None:
    """Lower the priority of a thread of this process to `by` below the process's.

    Only Linux has a priority for each thread. Nothing depends on it: where the system refuses, or the thread
    has just ended, nothing changes.
    """
    if TASKS.exists():
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, os.getpid()) + by)


def run_aside(work: Callable[[], Answer]) -> Answer:
    """Run `work` on a thread of low priority, and wait for it.

    The thread is a new one: what was lowered may not be raised again without a privilege.
    """
    with ThreadPoolExecutor(1, "aside", lambda: lower_priority(threading.get_native_id(), MUCH)) as thread:
        return thread.submit(work).result()
