"""Lowers the priority of the threads that merge segments.

Merging is most of the work of small commits, and nothing waits for it.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

NICE: Final = 5  # about a quarter of what other threads get that want the same core
_PREFIX: Final = "merge_thread_"  # how Tantivy names them
_TASKS: Final = Path("/proc/self/task")


def lower_merge_priority() -> None:
    """Lower the priority of this process's merging threads. Only Linux has a priority for each thread."""
    if _TASKS.exists():
        own = os.getpriority(os.PRIO_PROCESS, os.getpid())
        for task in merge_threads():
            with suppress(ProcessLookupError):  # it has just ended
                os.setpriority(os.PRIO_PROCESS, task, own + NICE)


def merge_threads() -> list[int]:
    """The ids of this process's merging threads."""
    return [int(task.name) for task in _TASKS.iterdir() if _name(task).startswith(_PREFIX)]


def _name(task: Path) -> str:
    try:
        return (task / "comm").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return ""
