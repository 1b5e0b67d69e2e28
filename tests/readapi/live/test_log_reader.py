"""The change log is read to its end, also where another indexer's log takes its place."""

from pathlib import Path

import pytest

from readapi.live.log_reader import LogReader
from schemas import change_log
from schemas.change_log import Entry, make_frame
from tests.indexer.changes import did


def log_changes(folder: Path, after: int, *positions: int) -> None:
    """Write a segment with a change at each position."""
    folder.mkdir(exist_ok=True)
    entries = [Entry("identity", did("ana"), 1, did("ana"), (), [f"{at}.example"]) for at in positions]
    frames = [make_frame([entry], at, 0) for entry, at in zip(entries, positions, strict=True)]
    change_log.segment_path(folder, after).write_bytes(b"".join(frames))


def positions(reader: LogReader) -> list[int]:
    """Of the next changes."""
    return [change.position for change in reader.read()]


def test_a_reader_that_is_ahead_of_another_indexers_log_follows_it(tmp_path: Path) -> None:
    shown, first, second = tmp_path / "changes", tmp_path / "first", tmp_path / "second"
    log_changes(first, 100, 110, 150)
    log_changes(second, 90, 95, 140)
    shown.symlink_to(first)
    reader = LogReader.at_end(shown)

    shown.unlink()
    shown.symlink_to(second)
    assert positions(reader) == []
    log_changes(second, 140, 160)

    assert positions(reader) == [160]
    reader.close()


def test_a_segment_that_is_pruned_before_it_is_opened_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_changes(tmp_path, 100, 110)
    log_changes(tmp_path, 110, 120)
    list_segments = change_log.list_segments

    def list_and_prune(folder: Path) -> list[change_log.Segment]:
        segments = list_segments(folder)
        change_log.segment_path(folder, 100).unlink(missing_ok=True)
        return segments

    monkeypatch.setattr(change_log, "list_segments", list_and_prune)
    reader = LogReader(tmp_path, 0)

    assert positions(reader) == [120]
    reader.close()
