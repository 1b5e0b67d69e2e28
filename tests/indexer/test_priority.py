"""Work that is run aside has a lower priority than the rest of the process."""

import os
import threading
from pathlib import Path

import pytest

from indexer.catalog.published.series import Series
from indexer.catalog.published.snapshots import Snapshots
from indexer.catalog.writing.writer import Writer
from indexer.priority import MUCH, run_aside
from tests.indexer.changes import put, settings, write

LOWEST = 19  # of Linux

linux = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="only Linux has a priority for each thread"
)


def priority() -> int:
    """The calling thread's."""
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@linux
def test_a_thread_of_its_own_has_a_low_priority() -> None:
    """The thread that waits keeps its own."""
    before = priority()

    assert run_aside(priority) == min(before + MUCH, LOWEST)
    assert priority() == before


def test_an_error_reaches_the_caller() -> None:
    def fail() -> None:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        run_aside(fail)


@linux
def test_a_system_that_refuses_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a sandbox may: the work is done all the same."""

    def refuse(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", refuse)

    assert run_aside(priority) == priority()


@linux
def test_series_are_counted_at_a_low_priority(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits are indexed meanwhile, and clients wait for those."""
    write(writer, put("ana", "track", at=1))
    found: list[int] = []
    publish = Series.publish

    def noted(series: Series, snapshot: Path) -> Path:
        found.append(priority())
        return publish(series, snapshot)

    monkeypatch.setattr(Series, "publish", noted)

    assert Snapshots(settings(tmp_path), writer).publish() is not None

    assert found == [min(priority() + MUCH, LOWEST)]
