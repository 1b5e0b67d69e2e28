"""Work for which no client waits has a lower priority than the rest of the process."""

import os
import threading
from pathlib import Path

import pytest

from indexer.catalog.published.series import Series
from indexer.priority import MUCH, thread_aside
from indexer.stores import Stores
from tests.indexer.changes import put, settings, write

LOWEST = 19  # of Linux

linux = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="only Linux has a priority for each thread"
)


def priority() -> int:
    """The calling thread's."""
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@linux
def test_a_thread_aside_has_a_low_priority() -> None:
    """The thread that waits keeps its own."""
    before = priority()
    with thread_aside("aside") as thread:
        assert thread.submit(priority).result() == min(before + MUCH, LOWEST)

    assert priority() == before


@linux
def test_a_system_that_refuses_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a sandbox may: the work is done all the same."""

    def refuse(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", refuse)
    with thread_aside("aside") as thread:
        assert thread.submit(priority).result() == priority()


@linux
async def test_series_are_counted_at_a_low_priority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits are indexed meanwhile, and clients wait for those."""
    found: list[int] = []
    publish = Series.publish

    def noted(series: Series, snapshot: Path) -> Path:
        found.append(priority())
        return publish(series, snapshot)

    monkeypatch.setattr(Series, "publish", noted)
    stores = Stores.open(settings(tmp_path))
    try:
        write(stores.writer, put("ana", "track", at=1))
        await stores.publish()
        await stores.derive()
    finally:
        await stores.close()

    assert found == [min(priority() + MUCH, LOWEST)]
