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

linux = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="only Linux has a priority for each thread"
)


def priority() -> int:
    """That of the thread that asks."""
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@linux
def test_a_thread_of_its_own_has_a_low_priority() -> None:
    """The thread that waits keeps its own."""
    before = priority()

    assert run_aside(priority) == before + MUCH
    assert priority() == before


def test_an_error_reaches_who_waits() -> None:
    def fail() -> None:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        run_aside(fail)


@linux
def test_series_are_counted_at_a_low_priority(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits are indexed meanwhile, and people wait for those."""
    write(writer, put("ana", "track", at=1))
    found: list[int] = []
    publish = Series.publish

    def noted(series: Series, snapshot: Path) -> Path:
        found.append(priority())
        return publish(series, snapshot)

    monkeypatch.setattr(Series, "publish", noted)

    assert Snapshots(settings(tmp_path), writer).publish() is not None

    assert found == [priority() + MUCH]
