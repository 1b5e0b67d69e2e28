"""Kills, a full disk and a folder that cannot be written leave the catalogue whole."""

import itertools
import os
import random
import resource
from collections.abc import Iterator
from multiprocessing.synchronize import Event
from pathlib import Path

import duckdb
import pytest

from indexer.catalog.published.snapshots import Snapshots
from indexer.catalog.tables import recount
from indexer.catalog.tables.cursors import StreamCursor
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.faults import StoreError
from indexer.repo.changes import RecordChange
from schemas import data_folder
from tests.indexer.changes import START, album, comment, contents, delete, like, put, settings, uri, write
from tests.indexer.killing import children, killed
from tests.mounting import mounted_in_memory

KILLS = int(os.environ.get("CRASH_KILLS", "8"))
SOURCE = "source"

# Forked from a process that has everything imported, so that a child starts in a few milliseconds.


def event(number: int) -> RecordChange:
    """The nth event of an endless source: creates, updates and deletes of every type."""
    dice = random.Random(number)
    person, nth = dice.choice(("ana", "ben", "cid")), dice.randrange(40)
    track = uri(dice.choice(("ana", "ben")), "track", dice.randrange(40))
    match dice.randrange(7):
        case 0:
            return delete(person, dice.choice(("track", "like", "comment", "list")), nth, at=number)
        case 1:
            return comment(person, track, nth, at=number)
        case 2:
            return album(person, [track, uri("ana", "track")], nth, at=number)
        case 3 | 4:
            return put(person, "track", nth, at=number, title=f"Take {number}", tags=[f"tag {number % 5}"])
        case _:
            return like(person, track, nth, at=number)


def follow(folder: Path, last: int, at_work: Event | None = None) -> None:
    """What the indexer does: from the cursor on, in batches, with a snapshot now and then."""
    with Writer.open(settings(folder)) as writer:
        snapshots = Snapshots(settings(folder), writer)
        done = writer.cursor(SOURCE) or 0
        for number in itertools.count():
            if done >= last:
                return
            until = min(last, done + 1 + number * 7 % 60)
            changes = [event(seq) for seq in range(done + 1, until + 1)]
            writer.write(Batch(changes=changes, cursors={SOURCE: StreamCursor(until, START)}))
            done = until
            if at_work is not None:
                at_work.set()
            if number % 5 == 0:
                snapshots.publish()
                writer.prune(writer.op - 100)


def cursor_of(folder: Path) -> int:
    """Where a catalogue that was just killed stands; at the start when it was never made."""
    if not (folder / data_folder.CATALOGUE).exists():
        return 0
    with Writer.open(settings(folder)) as writer:
        return writer.cursor(SOURCE) or 0


def everything(folder: Path) -> tuple[int | None, list[int], object]:
    """Cursor, miscounted tracks and rows of a catalogue."""
    with Writer.open(settings(folder)) as writer:
        con = writer.reader()
        return writer.cursor(SOURCE), recount.find_wrong_counts(con), contents(con)


@pytest.mark.slow
def test_kills_at_any_instant_lose_nothing(tmp_path: Path) -> None:
    """Afterwards cursor and rows are those of a catalogue that nobody disturbed."""
    dice = random.Random(int(os.environ.get("CRASH_SEED", "20")))
    disturbed, quiet = tmp_path / "disturbed", tmp_path / "quiet"
    cursors = []
    for number in range(KILLS):
        killed(follow, disturbed, dice, number)
        cursors.append(cursor_of(disturbed))
    last = cursors[-1] + 100

    follow(disturbed, last)
    with Writer.open(settings(quiet)) as writer:
        changes = [event(seq) for seq in range(1, last + 1)]
        writer.write(Batch(changes=changes, cursors={SOURCE: StreamCursor(last, START)}))

    assert cursors == sorted(cursors)
    assert cursors[-1] > 0
    assert everything(disturbed) == everything(quiet)
    assert list((disturbed / data_folder.SNAPSHOTS).glob("*.partial")) == []
    with duckdb.connect(disturbed / data_folder.NEWEST_SNAPSHOT, read_only=True) as con:
        assert recount.find_wrong_counts(con) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    with mounted_in_memory(disk, "size=16m"):
        yield disk


def leave(disk: Path, room: int) -> Path:
    """Put something on the disk that leaves so many bytes. Returns it."""
    found = os.statvfs(disk)
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(found.f_bavail * found.f_frsize - room))
    return ballast


def fill(writer: Writer) -> int:
    """Write until the disk is full. Returns how many tracks were committed."""
    committed = 0

    def endlessly() -> None:
        nonlocal committed
        while True:
            write(writer, *(put("ana", "track", committed + number, at=1) for number in range(50)))
            committed += 50

    with pytest.raises(StoreError, match="No room is left"):
        endlessly()
    return committed


def tracks(writer: Writer) -> int:
    """Rows of the table."""
    ((rows,),) = writer.reader().execute("select count(*) from tracks").fetchall()
    return int(rows)


def test_a_full_disk_ends_in_a_sentence_and_an_intact_store(small_disk: Path) -> None:
    """What was committed is there afterwards, and writing goes on once there is room."""
    with Writer.open(settings(small_disk)) as writer:
        ballast = leave(small_disk, 300_000)
        committed = fill(writer)

    ballast.unlink()
    with Writer.open(settings(small_disk)) as writer:
        intact = tracks(writer)
        write(writer, put("ben", "track", at=2))
        assert (intact, tracks(writer)) == (committed, committed + 1)


def test_a_snapshot_that_does_not_fit_leaves_the_one_before(small_disk: Path) -> None:
    """The catalogue itself goes on, and once there is room, so do the snapshots."""
    with Writer.open(settings(small_disk)) as writer:
        snapshots = Snapshots(settings(small_disk), writer)
        first = snapshots.publish()
        write(writer, put("ana", "track", at=1))
        assert snapshots.begin()
        ballast = leave(small_disk, 100_000)

        with pytest.raises(StoreError, match="No room is left"):
            snapshots.finish()

        assert snapshots.current.resolve() == first
        assert {path.name for path in snapshots.folder.iterdir()} == {
            "catalog-1.duckdb",
            "current",
            "series",
            "series-1.duckdb",
        }
        ballast.unlink()
        assert snapshots.publish() == snapshots.folder / "catalog-3.duckdb"


def limited(folder: Path) -> None:
    """A process whose files may not grow: what a full disk is where we may not mount one."""
    with Writer.open(settings(folder)) as writer:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        fill(writer)


@pytest.mark.slow
def test_a_limit_on_file_sizes_ends_the_same_way(tmp_path: Path) -> None:
    """The limit is hit, told in a sentence, and nothing is damaged."""
    child = children.Process(target=limited, args=(tmp_path,))
    child.start()
    child.join(60)

    assert child.exitcode == 0
    with Writer.open(settings(tmp_path)) as writer:
        assert tracks(writer) > 0
        assert tracks(writer) % 50 == 0


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """A path under a file: nobody may write there, whoever they are."""
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match="cannot be written"):
        Writer.open(settings(tmp_path / "file" / "data"))


def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    """The sentence says which, and which setting names another."""
    with (
        mounted_in_memory(tmp_path, "ro"),
        pytest.raises(StoreError, match="written; correct its permissions or set FMSVC_DATA_DIR"),
    ):
        Writer.open(settings(tmp_path))
