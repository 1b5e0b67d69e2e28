"""A sound catalogue has no problems; each kind of damage is told in a sentence."""

from datetime import timedelta
from pathlib import Path

import pytest

from indexer.catalog.tables.cursors import StreamCursor
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.control.check import check_catalogue, check_live
from indexer.faults import StoreError
from schemas import data_folder
from tests import documents
from tests.indexer.changes import START, album, comment, delete, instant, like, put, settings, uri, write

TRACK = uri("ana", "track")


@pytest.fixture
def filled(writer: Writer) -> Writer:
    """A catalogue with something of everything."""
    write(
        writer,
        put("ana", "track", at=1, document=documents.full("track")),
        put("ana", "track", 1, at=1, title=""),
        delete("ana", "track", 2, at=1),
        album("ana", [TRACK], at=2),
        like("ben", TRACK, at=3),
        comment("ben", TRACK, at=4),
    )
    return writer


def test_a_sound_catalogue_is_counted_and_has_no_problems(filled: Writer) -> None:
    """Rows per table, cursors with their lag, the outbox and the index that follows it."""
    filled.write(Batch(cursors={"wss://relay.example": StreamCursor(41, START)}))

    report = check_catalogue(filled.reader(), watermark=filled.op, now=START + timedelta(seconds=90))

    assert report.problems == ()
    assert (report.counts["tracks"], report.counts["likes"], report.counts["track_tags"]) == (3, 1, 2)
    assert [(found.source, found.seq, found.lag_seconds) for found in report.cursors] == [
        ("wss://relay.example", 41, 90.0)
    ]
    assert (report.op, report.watermark) == (filled.op, filled.op)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("update track_counts set likes = 9", "1 rows of track_counts differ from a recount."),
        ("insert into tracks select * from tracks where state = 'live'", "1 rows of tracks share their key."),
        ("update tracks set id = 4 where state <> 'live'", "1 rows of tracks share their id."),
        (
            "delete from accounts where did = (select did from likes)",
            "1 rows of likes belong to no known account.",
        ),
        (
            "insert into track_tags values (5, 0, 'lost')",
            "1 rows of track_tags belong to no live row of tracks.",
        ),
        ("delete from invalid_records", "1 invalid rows of tracks come without reasons."),
        ("delete from outbox where op = 2", "The outbox holds 7 entries where 8 are expected."),
    ],
)
def test_damage_is_told(filled: Writer, damage: str, problem: str) -> None:
    """One sentence for each kind."""
    filled.reader().execute(damage)

    report = check_catalogue(filled.reader(), watermark=None, now=START)

    assert problem in report.problems


def test_an_index_that_cannot_catch_up_is_told(filled: Writer) -> None:
    """Behind what was pruned, or ahead of what ever was."""
    filled.prune(3)

    behind = check_catalogue(filled.reader(), watermark=2, now=START).problems
    ahead = check_catalogue(filled.reader(), watermark=99, now=START).problems

    assert behind == (
        "The search index stands at 2 and the outbox begins after 3; run fmsvc-server rebuild.",
    )
    assert ahead[0].startswith("The search index stands at 99, ahead of the outbox at ")


def test_the_live_file_is_checked_when_nobody_has_it(filled: Writer, tmp_path: Path) -> None:
    """Opened, read and closed again."""
    filled.close()

    report = check_live(settings(tmp_path), None, instant(0))

    assert report.problems == ()
    Writer.open(settings(tmp_path)).close()


def test_a_flipped_bit_is_found(filled: Writer, tmp_path: Path) -> None:
    """Every block is read, and compared with its checksum."""
    filled.close()
    file = tmp_path / data_folder.CATALOGUE
    content = bytearray(file.read_bytes())
    for place in range(20_000, len(content), 4096):
        content[place] ^= 1
    file.write_bytes(content)

    try:
        problems: tuple[str, ...] = check_live(settings(tmp_path), None, START).problems
    except StoreError as error:
        problems = (str(error),)

    assert any("cannot be read" in problem for problem in problems)
