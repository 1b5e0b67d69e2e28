"""Batches go into the catalogue whole; of each record the newest version stays."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from indexer.catalog.tables.cursors import StreamCursor
from indexer.catalog.tables.dead_letters import DeadLetter
from indexer.catalog.tables.records import Hashing
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.faults import StoreError
from schemas import data_folder
from schemas.ids import record_id, record_key
from tests import documents
from tests.indexer.changes import (
    START,
    album,
    comment,
    contents,
    delete,
    did,
    instant,
    like,
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


def test_a_record_of_every_type_becomes_rows(writer: Writer) -> None:
    """Five types, their child tables, the accounts and the counts, in one transaction."""
    write(
        writer,
        put("ana", "track", at=1, document=documents.full("track")),
        put("ana", "profile", at=2),
        album("ana", [TRACK], at=3),
        like("ben", TRACK, at=4),
        comment("ben", TRACK, at=5),
    )

    assert {table: len(rows) for table, rows in contents(writer.reader()).items() if rows} == {
        "accounts": 2,
        "comments": 1,
        "likes": 1,
        "list_items": 1,
        "lists": 1,
        "meta": 1,
        "profiles": 1,
        "track_counts": 1,
        "track_features": 1,
        "track_tags": 2,
        "tracks": 1,
    }
    assert writer.tracked == {did("ana"), did("ben")}
    assert writer.unresolved() == sorted([did("ana"), did("ben")])


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


def test_a_key_that_is_another_records_becomes_a_dead_letter(tmp_path: Path) -> None:
    """Two at-uris whose first 64 bits of hash agree: the second is kept aside with its bytes."""
    writer = Writer.open(settings(tmp_path), Hashing(key=lambda _: 5))
    first, second = put("ana", "track", 0, at=1), put("ana", "track", 1, at=2)

    write(writer, first)
    write(writer, second)

    assert column(writer, "select uri from tracks") == [str(first.uri)]
    assert column(writer, "select raw from dead_letters") == [second.block]
    writer.close()


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


def test_a_second_indexer_is_told_who_has_the_file(writer: Writer, tmp_path: Path) -> None:
    """One process writes; another one is refused with a sentence that names it."""
    program = (
        "import pathlib, sys\n"
        "from indexer.catalog.writing.writer import Writer\n"
        "from schemas.settings import Settings\n"
        "try:\n    Writer.open(Settings(data_dir=pathlib.Path(sys.argv[1])))\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )

    said = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    ).stdout

    assert said.startswith("StoreError ")
    assert "in use by another indexer" in said


@pytest.mark.parametrize("damage", [b"", b"not a database " * 1000, None])
def test_a_damaged_file_is_refused_with_what_to_do(tmp_path: Path, damage: bytes | None) -> None:
    """Empty, foreign or cut off: never a traceback, never an empty index in its place."""
    Writer.open(settings(tmp_path)).close()
    file = tmp_path / data_folder.CATALOGUE
    file.write_bytes(file.read_bytes()[:6000] if damage is None else damage)

    with pytest.raises(StoreError, match=r"move .* out of .* and start again"):
        Writer.open(settings(tmp_path))


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """Going back is not possible, and the file is left as it is."""
    Writer.open(settings(tmp_path)).close()
    with duckdb.connect(tmp_path / data_folder.CATALOGUE) as con:
        con.execute("update meta set value = '999' where name = 'schema_version'")

    with pytest.raises(StoreError, match="made by a newer version"):
        Writer.open(settings(tmp_path))


def test_a_crash_while_the_file_is_made_leaves_no_half_of_it(tmp_path: Path) -> None:
    """It takes its name when it is whole; a leftover is made anew."""
    (tmp_path / "catalog.duckdb.partial").write_bytes(b"half")

    Writer.open(settings(tmp_path)).close()

    assert [path.name for path in tmp_path.iterdir()] == ["catalog.duckdb"]
