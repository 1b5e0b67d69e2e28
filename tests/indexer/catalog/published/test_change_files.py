"""The files of the change log have each committed change once, wherever the process before was killed.

LOG_KILLS sets how often one is (5; make test-long 50).
"""

import os
import random
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from indexer.catalog.published import change_files
from indexer.catalog.published.change_files import ChangeFiles
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from schemas import change_log, data_folder
from schemas.change_log import Entry, make_frame
from tests.indexer.catalog.tables.test_published_records import logged
from tests.indexer.changes import did, put, settings, uri, write
from tests.indexer.killing import killed

KILLS = int(os.environ.get("LOG_KILLS", "5"))
HOUR = 3_600_000_000


def titled(folder: Path) -> list[str]:
    """The record keys of what was logged."""
    return [change.entry.fields[1] for change in logged(folder)]


@pytest.mark.slow
def test_a_frame_that_was_cut_anywhere_is_completed_from_the_catalogue(tmp_path: Path) -> None:
    with Writer.open(settings(tmp_path)) as writer:
        for second in range(1, 4):
            write(writer, put("ana", "track", second, at=second), put("ben", "track", second, at=second))
    (segment,) = change_log.list_segments(tmp_path / data_folder.CHANGES)
    whole, found = segment.path.read_bytes(), logged(tmp_path)
    assert len(found) == 6

    for length in range(0, len(whole), 37):
        segment.path.write_bytes(whole[:length])
        Writer.open(settings(tmp_path)).close()
        assert segment.path.read_bytes() == whole, f"cut after {length} bytes"
    damaged = bytearray(whole)
    damaged[-10] ^= 1
    segment.path.write_bytes(damaged)
    Writer.open(settings(tmp_path)).close()
    assert segment.path.read_bytes() == whole


def test_the_catalogue_drops_what_the_files_have(tmp_path: Path) -> None:
    with Writer.open(settings(tmp_path)) as writer:
        write(writer, put("ana", "track", at=1))
        writer.prune(writer.op)
        assert writer.reader().execute("select count(*) from change_log").fetchall() == [(0,)]


def test_segments_are_removed_when_they_are_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = HOUR * 1000
    monkeypatch.setattr(change_files, "_now", lambda: now)
    files = ChangeFiles(tmp_path, hours=3)
    for _ in range(10):
        now += HOUR
        entry = Entry("create", did("ana"), 1, did("ana"), (), ("fm.svc.track", "a", "b", "c"))
        files.append(make_frame([entry], now, 0), now)
    files.close()
    assert [segment.after // HOUR for segment in change_log.list_segments(tmp_path)] == [
        1006,
        1007,
        1008,
        1009,
    ]


def test_positions_rise_even_when_the_catalogue_was_lost(tmp_path: Path) -> None:
    with Writer.open(settings(tmp_path)) as writer:
        write(writer, put("ana", "track", at=1))
    (tmp_path / data_folder.CATALOGUE).unlink()
    with Writer.open(settings(tmp_path)) as writer:
        write(writer, put("ana", "track", at=1))
    first, second = logged(tmp_path)
    assert first.position < second.position


def endless(folder: Path, _: int, at_work: Event) -> None:
    """Write a track in each transaction, from the first that is not there."""
    with Writer.open(settings(folder, log_hours=1)) as writer:
        [(number,)] = writer.reader().execute("select count(*) from tracks").fetchall()
        while True:
            number += 1
            write(writer, put("ana", "track", number, at=number))
            if number % 7 == 0:
                writer.prune(writer.op)
            if number % 100 == 0:
                writer.checkpoint()  # as snapshots do: else each start reads again what all before it wrote
            at_work.set()


@pytest.mark.slow
def test_each_change_is_logged_once_however_often_the_indexer_is_killed(tmp_path: Path) -> None:
    dice = random.Random(20)
    for number in range(KILLS):
        killed(endless, tmp_path, dice, number)
    with Writer.open(settings(tmp_path)) as writer:
        writer.write(Batch())
        [(stored,)] = writer.reader().execute("select count(*) from tracks").fetchall()
    assert titled(tmp_path) == [uri("ana", "track", number).rkey for number in range(1, stored + 1)]
