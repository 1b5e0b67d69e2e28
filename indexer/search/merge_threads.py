"""Lowers the priority of the threads that merge segments.

Merging is most of the work of small commits, and nothing waits for it.
"""

from pathlib import Path
from typing import Final

from indexer.priority import TASKS, lower_priority

NICE: Final = 5  # about a quarter of what other threads get that want the same core
_PREFIX: Final = "merge_thread_"  # how Tantivy names them


def lower_merge_priority() -> None:
    """Lower the priority of this process's merging threads, where threads have one."""
    for task in merge_threads():
        lower_priority(task, NICE)


def merge_threads() -> list[int]:
    """The ids of this process's merging threads; none where the system does not tell."""
    return [int(task.name) for task in TASKS.glob("*") if _name(task).startswith(_PREFIX)]


def _name(task: Path) -> str:
    try:
        return (task / "comm").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return ""
