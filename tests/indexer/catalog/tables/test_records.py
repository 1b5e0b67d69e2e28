"""A record's rows: the newest version wins in any order of arrival; an unreadable one is kept apart."""

import random
from datetime import datetime, tzinfo
from pathlib import Path

import pytest

from indexer.catalog.tables.records import Hashing
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from schemas.ids import record_id, record_key
from tests import documents
from tests.indexer.changes import (
    delete,
    did,
    instant,
    put,
    rev,
    settings,
    uri,
    write,
)

TRACK = uri("ana", "track")


def column(writer: Writer, query: str) -> list[object]:
    """The first column of what a query finds."""
    return [row[0] for row in writer.reader().execute(query).fetchall()]


def test_a_row_says_what_the_commit_and_the_record_say(writer: Writer) -> None:
    """Address, version, the instant that the record's key claims, and the derived numbers."""
    write(writer, put("ana", "track", at=7, title="Lua"))

    names = "key, uri, did, rkey, rev, indexed_at, state, id, title, visibility"
    (row,) = writer.reader().execute(f"select {names} from tracks").fetchall()

    assert row == (
        record_key(str(TRACK)), str(TRACK), did("ana"), TRACK.rkey, rev(7), instant(0).replace(tzinfo=None),
        "live", record_id(str(TRACK)), "Lua", "public",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "number", "second"),
    [("track", 3, 3), ("track", 9, 5), ("profile", 0, 5)],
    ids=["key before rev", "key after rev", "key that is no TID"],
)
def test_a_record_is_as_old_as_its_key_says_but_never_newer_than_its_rev(
    writer: Writer, kind: str, number: int, second: int
) -> None:
    """So it does not matter by which rev a whole repo, a nudge or the stream brought it."""
    write(writer, put("ana", kind, number, at=5))

    assert column(writer, f"select indexed_at from {kind}s") == [instant(second).replace(tzinfo=None)]


@pytest.mark.parametrize("together", [True, False])
def test_the_highest_rev_wins_whoever_comes_first(writer: Writer, together: bool) -> None:
    """In one batch or in several, an older version changes nothing."""
    versions = [put("ana", "track", at=second, title=f"At {second}") for second in (2, 3, 1)]

    if together:
        write(writer, *versions)
    else:
        for version in versions:
            write(writer, version)

    assert column(writer, "select title from tracks") == ["At 3"]


def test_the_same_commit_again_is_skipped(writer: Writer) -> None:
    """No row is written and no document goes stale."""
    change = put("ana", "track", at=1)
    first = writer.write(Batch(changes=[change]))

    again = writer.write(Batch(changes=[change]))

    assert (first.rows, again.rows, again.skipped) == (1, 0, 1)
    assert again.op == first.op


@pytest.mark.parametrize("merge_at", [0, 2, 1000])
@pytest.mark.slow
def test_a_record_has_one_row_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, merge_at: int
) -> None:
    """What was stored lately is looked for by its time: clocks are set back, programs restarted."""
    hours = random.Random(merge_at).choices(range(24), k=40)
    writer = Writer.open(settings(tmp_path))
    for second, hour in enumerate(hours, 1):
        if second % 13 == 0:
            writer.close()
            writer = Writer.open(settings(tmp_path))
        for table in writer._holdings._tables.values():
            table._seen._merge_at = merge_at
        with monkeypatch.context() as patched:
            patched.setattr("indexer.catalog.writing.writer.datetime", clock_at(hour))
            write(writer, put("ana", "track", second % 4, at=100 + second, title=f"Take {second}"))

    titles = column(writer, "select title from tracks order by title")
    writer.close()

    assert titles == [f"Take {second}" for second in (37, 38, 39, 40)]


def clock_at(hour: int) -> type[datetime]:
    """A clock that stands at an hour of the tests' day."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Clock":
            return cls(2026, 3, 1, hour, tzinfo=tz)

    return Clock


def test_a_delete_leaves_a_tombstone_that_an_older_rev_cannot_undo(writer: Writer) -> None:
    """Also when the delete comes first. Fields and children are gone, the public id stays."""
    write(writer, delete("ana", "track", at=3))
    write(writer, put("ana", "track", at=2, document=documents.full("track")))

    (row,) = writer.reader().execute("select state, title, id from tracks").fetchall()

    assert row == ("deleted", None, record_id(str(TRACK)))
    assert column(writer, "select tag from track_tags") == []


def test_a_newer_rev_brings_a_deleted_record_back(writer: Writer) -> None:
    """People delete and write again under the same key."""
    write(writer, put("ana", "track", at=1), delete("ana", "track", at=2))

    write(writer, put("ana", "track", at=3, title="Again"))

    assert column(writer, "select title from tracks where state = 'live'") == ["Again"]


def test_an_update_replaces_children_and_clears_absent_fields(writer: Writer) -> None:
    """What the new version does not say, nobody says."""
    write(writer, put("ana", "track", at=1, document=documents.full("track")))

    write(writer, put("ana", "track", at=2, tags=["new"]))

    assert column(writer, "select album from tracks") == [None]
    assert column(writer, "select tag from track_tags") == ["new"]
    assert column(writer, "select did from track_features") == []


def test_an_invalid_update_hides_the_record_and_is_kept_with_its_reasons(writer: Writer) -> None:
    """The bytes stay for whoever wants to know; a valid version ends it."""
    write(writer, put("ana", "track", at=1, tags=["old"]))
    broken = put("ana", "track", at=2, title="")

    write(writer, broken)
    (kept,) = writer.reader().execute("select uri, rev, reasons, record from invalid_records").fetchall()
    hidden = column(writer, "select state from tracks")
    write(writer, put("ana", "track", at=3))

    assert hidden == ["invalid"]
    assert (kept[0], kept[1], kept[3]) == (str(TRACK), rev(2), broken.block)
    assert kept[2].startswith("title: ")
    assert column(writer, "select state from tracks") == ["live"]
    assert column(writer, "select key from invalid_records") == []


def test_hostile_text_is_stored_as_it_came(writer: Writer) -> None:
    """NUL, right-to-left marks, quotes and markup are just characters."""
    title = "a\0b \u202e'); drop table tracks; -- <script>"

    write(writer, put("ana", "track", at=1, title=title))

    assert column(writer, "select title from tracks") == [title]


def test_a_key_that_is_another_records_becomes_a_dead_letter(tmp_path: Path) -> None:
    """Two at-uris whose first 64 bits of hash agree: the second is kept aside with its bytes."""
    writer = Writer.open(settings(tmp_path), Hashing(key=lambda _: 5))
    first, second = put("ana", "track", 0, at=1), put("ana", "track", 1, at=2)

    write(writer, first)
    write(writer, second)

    assert column(writer, "select uri from tracks") == [str(first.uri)]
    assert column(writer, "select raw from dead_letters") == [second.block]
    writer.close()
