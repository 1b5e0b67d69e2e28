"""A batch is one transaction: rows, cursor and memory change together, or not at all."""

from pathlib import Path

import pytest

from indexer.catalog.tables.cursors import StreamCursor
from indexer.catalog.tables.dead_letters import DeadLetter
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from tests.indexer.changes import (
    START,
    did,
    like,
    put,
    settings,
    uri,
    write,
)

TRACK = uri("ana", "track")


def column(writer: Writer, query: str) -> list[object]:
    """The first column of what a query finds."""
    return [row[0] for row in writer.reader().execute(query).fetchall()]


def test_the_cursor_commits_with_the_rows(writer: Writer, tmp_path: Path) -> None:
    """After a restart both are there; the low-water mark is per source."""
    writer.write(
        Batch(
            changes=[put("ana", "track", at=1)],
            cursors={"wss://a.example": StreamCursor(41, START), "file": StreamCursor(7, None)},
        )
    )
    writer.write(Batch(cursors={"wss://a.example": StreamCursor(42, START)}))
    writer.close()

    reopened = Writer.open(settings(tmp_path))

    assert reopened.cursor("wss://a.example") == 42
    assert reopened.cursor("file") == 7
    assert reopened.cursor("wss://b.example") is None
    assert column(reopened, "select count(*) from tracks") == [1]
    reopened.close()


def test_a_batch_that_fails_leaves_nothing_behind(writer: Writer) -> None:
    """Neither rows nor memory of it: the next batch finds things as they were."""
    write(writer, like("ben", TRACK, at=1))
    wrong = DeadLetter(START, "file", 2**70, None, "a number that no column holds", b"")

    with pytest.raises(OverflowError):
        writer.write(Batch(changes=[like("cid", TRACK, at=2)], dead_letters=[wrong]))
    write(writer, like("ben", TRACK, 1, at=3))

    assert did("cid") not in writer.tracked
    assert column(writer, "select likes from track_counts") == [1]
    assert column(writer, "select count(*) from likes") == [2]


def test_a_pruned_outbox_remembers_its_numbers(writer: Writer, tmp_path: Path) -> None:
    """Numbers go on where they stopped, after pruning and after a restart."""
    op = writer.write(Batch(changes=[put("ana", "track", at=1)])).op

    writer.prune(op)
    writer.close()
    reopened = Writer.open(settings(tmp_path))
    written = reopened.write(Batch(changes=[put("ana", "track", at=2)]))

    assert column(reopened, "select min(op) from outbox") == [op + 1]
    assert column(reopened, "select max(op) from outbox") == [written.op]
    assert column(reopened, "select value from meta where name = 'outbox_pruned'") == [str(op)]
    reopened.close()
