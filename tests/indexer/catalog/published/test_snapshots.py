"""Snapshots are whole, readable by other processes, and gone when nobody reads them."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from aiohttp import web

from indexer.catalog.published.snapshots import Snapshots, copy_file
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from schemas.settings import Settings
from tests import documents
from tests.indexer import empty_catalogues
from tests.indexer.changes import account, album, comment, like, put, settings, uri, write
from tests.indexer.running import running, until
from tests.mounting import mounted
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.relay import Relay

TRACK = uri("ana", "track")
READER = """
import sys, duckdb
con = duckdb.connect(sys.argv[1], read_only=True)
print("open", flush=True)
sys.stdin.readline()
print(con.execute("select count(*) from visible_tracks").fetchone()[0], flush=True)
"""


class Clock:
    """A clock that is moved by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def one_track_writer(tmp_path: Path) -> Iterator[Writer]:
    empty_catalogues.begin(tmp_path)
    opened = Writer.open(settings(tmp_path))
    write(opened, put("ana", "track", at=1))
    yield opened
    opened.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def snapshots(tmp_path: Path, one_track_writer: Writer, clock: Clock) -> Snapshots:
    return Snapshots(settings(tmp_path, parquet_full_seconds=0), one_track_writer, clock)


def publish_due(snapshots: Snapshots) -> None:
    """Publish what is due, as an indexer does, but on one thread."""
    snapshots.publish_due(snapshots.begin)
    snapshots.derive_due()


def count(path: Path, view: str = "visible_tracks") -> int:
    """Rows of a view of a snapshot."""
    with duckdb.connect(path, read_only=True) as con:
        (rows,) = con.execute(f"select count(*) from {view}").fetchall()
        return int(rows[0])


def test_a_snapshot_holds_what_was_committed_when_it_began(
    one_track_writer: Writer, snapshots: Snapshots
) -> None:
    """Batches written while the file is copied are in the next one."""
    assert snapshots.begin()
    write(one_track_writer, *(put("ana", "track", number, at=5) for number in range(1, 300)))
    first = snapshots.finish()

    second = snapshots.publish()

    assert second is not None
    assert (count(first), count(second)) == (1, 300)
    assert snapshots.current.resolve() == second


def test_the_views_show_live_records_of_accounts_that_are_not_hidden(
    one_track_writer: Writer, snapshots: Snapshots
) -> None:
    """Nothing of a suspended account, nothing that does not validate, nothing deleted."""
    write(
        one_track_writer,
        put("ana", "track", 1, at=2, title=""),
        album("ana", [TRACK], at=3),
        like("ben", TRACK, at=3),
        like("cid", TRACK, at=3),
        comment("cid", TRACK, at=4),
        account("cid", "suspended", at=5),
    )

    snapshot = snapshots.publish()

    assert snapshot is not None
    views = ("visible_tracks", "visible_lists", "visible_likes", "visible_comments")
    assert [count(snapshot, view) for view in views] == [1, 1, 1, 0]


def test_snapshots_are_written_for_any_duckdb_1(snapshots: Snapshots) -> None:
    """The header says storage version 64, the one of DuckDB 0.10 to 1.1 and of all that came after."""
    snapshot = snapshots.publish()

    assert snapshot is not None
    header = snapshot.read_bytes()[8:20]
    assert header[:4] == b"DUCK"
    assert int.from_bytes(header[4:12], "little") == 64


def test_publishing_waits_for_a_change_and_for_its_turn(
    one_track_writer: Writer, snapshots: Snapshots, clock: Clock
) -> None:
    """Nothing new: nothing published. A copy that took two seconds: the next one is 38 seconds later."""
    assert snapshots.due
    assert snapshots.begin()
    clock.now += 2
    snapshots.finish()
    assert not snapshots.due

    write(one_track_writer, put("ana", "track", 1, at=2))
    clock.now += 37.9
    assert not snapshots.due
    clock.now += 0.2
    assert snapshots.due


def test_a_cursor_alone_is_no_change(one_track_writer: Writer, snapshots: Snapshots, clock: Clock) -> None:
    """An idle firehose publishes nothing."""
    snapshots.publish()
    one_track_writer.write(Batch())
    clock.now += 100

    assert not snapshots.due


def test_a_reader_in_another_process_keeps_its_snapshot(
    one_track_writer: Writer, snapshots: Snapshots
) -> None:
    """The newest two stay, and every older one that somebody has open; it goes once they are done."""
    held = snapshots.publish()
    assert held is not None
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(held)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdout is not None
    assert reader.stdout.readline() == "open\n"

    for number in range(1, 5):
        write(one_track_writer, put("ana", "track", number, at=5))
        snapshots.publish()
    kept = sorted(path.name for path in snapshots.folder.glob("catalog-*.duckdb"))
    answer, _ = reader.communicate("go\n")
    snapshots.prune()

    assert kept == ["catalog-1.duckdb", "catalog-4.duckdb", "catalog-5.duckdb"]
    assert answer == "1\n"
    assert sorted(path.name for path in snapshots.folder.glob("catalog-*.duckdb")) == kept[1:]


def test_what_killed_readers_left_goes_with_their_snapshot(
    one_track_writer: Writer, snapshots: Snapshots
) -> None:
    """What did not fit into their memory lies beside the file that they read."""
    left = snapshots.folder / "catalog-1.duckdb.77.tmp"
    left.mkdir()
    (left / "duckdb_temp_storage_DEFAULT-0.tmp").write_bytes(b"x")
    for _ in range(2):
        snapshots.publish()
    assert left.exists()

    snapshots.publish()

    assert not left.exists()


def test_copying_keeps_other_processes_out_of_the_live_file(
    one_track_writer: Writer, snapshots: Snapshots
) -> None:
    """POSIX drops a process's locks with the first descriptor closed; ours stays open."""
    snapshots.publish()

    opened = subprocess.run(
        [sys.executable, "-c", "import sys, duckdb; duckdb.connect(sys.argv[1])", str(one_track_writer.path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert opened.returncode == 1
    assert "lock" in opened.stderr


@pytest.fixture
def xfs(tmp_path: Path) -> Iterator[Path]:
    """A folder on an XFS of its own."""
    if shutil.which("mkfs.xfs") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no mkfs.xfs is installed")
    image, folder = tmp_path / "xfs.img", tmp_path / "xfs"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(320 << 20)
    subprocess.run(["mkfs.xfs", "-q", image], check=True)
    with mounted(folder, "-o", "loop", image):
        yield folder


def test_a_snapshot_shares_its_blocks_where_the_file_system_can(xfs: Path) -> None:
    """It takes no room, and shows the state of its time when the catalogue has gone on."""
    original, copy = xfs / "original", xfs / "copy"
    content = os.urandom(32 << 20)
    original.write_bytes(content)
    os.sync()
    free = os.statvfs(xfs).f_bavail

    with original.open("rb+") as file:
        copy_file(file.fileno(), copy)
        os.sync()
        taken = (free - os.statvfs(xfs).f_bavail) * os.statvfs(xfs).f_frsize
        file.write(b"changed")

    assert taken < 1 << 20
    assert copy.read_bytes() == content


def test_leftovers_go_and_numbers_go_on(
    tmp_path: Path, one_track_writer: Writer, snapshots: Snapshots
) -> None:
    """A copy that a crash cut short is removed, and no name is used twice."""
    snapshots.publish()
    leftover = snapshots.folder / "catalog-2.duckdb.partial"
    leftover.write_bytes(b"half")

    reopened = Snapshots(settings(tmp_path), one_track_writer)
    snapshot = reopened.publish()

    assert not leftover.exists()
    assert snapshot == snapshots.folder / "catalog-2.duckdb"
    assert os.readlink(reopened.current) == "catalog-2.duckdb"


def test_a_reader_in_the_way_delays_a_snapshot_and_does_not_fail_it(
    one_track_writer: Writer, snapshots: Snapshots, clock: Clock
) -> None:
    """DuckDB refuses a checkpoint while a reader needs older versions."""
    reader = one_track_writer.reader()
    reader.execute("begin")
    reader.execute("select count(*) from tracks").fetchall()
    write(one_track_writer, put("ana", "track", at=9, title="Changed"))

    hindered = snapshots.publish()
    reader.execute("commit")

    assert hindered is None
    assert snapshots.due
    assert snapshots.publish() is not None


def exported(snapshots: Snapshots) -> int | None:
    """How many tracks the newest export holds; None before there is one."""
    newest = snapshots.exports.read_manifest().newest_full
    return next(file.rows for file in newest.files if file.table == "tracks") if newest else None


def test_a_first_export_waits_for_the_catch_up(
    one_track_writer: Writer, snapshots: Snapshots, clock: Clock
) -> None:
    """It holds what was written until then, though a snapshot was made before."""
    publish_due(snapshots)
    clock.now += 20
    write(one_track_writer, put("ana", "track", 1, at=2))
    before = exported(snapshots)
    snapshots.caught_up()

    publish_due(snapshots)

    assert (before, exported(snapshots)) == (None, 2)


def test_a_first_export_is_not_of_the_snapshot_before_the_catch_up(
    one_track_writer: Writer, snapshots: Snapshots
) -> None:
    """Where the next snapshot takes long, or cannot be made for a while."""
    publish_due(snapshots)
    write(one_track_writer, put("ana", "track", 1, at=2))
    snapshots.caught_up()

    snapshots.derive_due()
    before = exported(snapshots)
    snapshots.publish()
    snapshots.derive_due()

    assert (before, exported(snapshots)) == (None, 2)


def test_a_first_export_waits_no_longer_than_any_other(snapshots: Snapshots, clock: Clock) -> None:
    """A network that is never read to its end."""
    publish_due(snapshots)
    clock.now += 3600

    publish_due(snapshots)

    assert exported(snapshots) == 1


def test_a_young_catalogue_is_exported_more_often(snapshots: Snapshots, clock: Clock) -> None:
    """At the latest when it is twice as old as at the export before, and every hour in the end."""
    snapshots.publish()
    snapshots.caught_up()
    seen = []
    for minute in range(1, 6 * 60):
        clock.now += 60
        if snapshots.export_due:
            snapshots.export()
            seen.append(minute)

    assert seen == [1, 2, 4, 8, 16, 32, 64, 124, 184, 244, 304]


def test_a_service_that_exported_before_does_so_when_it_starts(
    tmp_path: Path, one_track_writer: Writer, snapshots: Snapshots, clock: Clock
) -> None:
    """And then every hour."""
    snapshots.caught_up()
    publish_due(snapshots)
    write(one_track_writer, put("ana", "track", 1, at=2))

    restarted = Snapshots(settings(tmp_path, parquet_full_seconds=0), one_track_writer, clock)
    publish_due(restarted)

    assert exported(restarted) == 2
    clock.now += 3599
    assert not restarted.export_due
    clock.now += 1
    assert restarted.export_due


@pytest.mark.slow
async def test_an_indexer_exports_when_it_has_caught_up(tmp_path: Path) -> None:
    """Not while lists are read, which is when there is nothing yet; then what they led to."""
    repo, listed = ForgedRepo(), asyncio.Event()
    repo.create("fm.svc.track", documents.least("track"))
    repo.commit_frame(1)

    async def lists(_: web.Request) -> web.Response:
        await listed.wait()
        return web.json_response({"repos": [{"did": repo.did}]})

    route = web.get("/xrpc/com.atproto.sync.listReposByCollection", lists)
    async with Relay(routes=[route]) as relay, ForgedNetwork([repo]) as server:
        chosen = Settings(
            data_dir=tmp_path, relay=relay.url, plc_url=server.url, allow_loopback=True, snapshot_seconds=0.01
        )
        async with running(chosen) as indexer:
            snapshots = indexer.indexer.stores.snapshots
            await until(lambda: indexer.indexer.pipeline.lag.seconds() is not None and snapshots.published_at)
            before = exported(snapshots)
            listed.set()
            await until(lambda: exported(snapshots) is not None)

            assert (before, exported(snapshots)) == (None, 1)


@pytest.mark.slow
def test_an_export_of_long_rows_fits_into_its_memory(
    one_track_writer: Writer, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred megabytes of descriptions, and less memory than that."""
    monkeypatch.setattr("indexer.catalog.published.exports.EXPORT_MEMORY", "128MB")
    lengthen(one_track_writer, rows=20_000)
    snapshots.publish()

    manifest = snapshots.export()

    [tracks] = [file for file in manifest.exports[0].files if file.table == "tracks"]
    path = snapshots.exports.folder / tracks.path
    assert duckdb.sql(f"select count(*), sum(length(description)) from '{path}'").fetchall() == [
        (20_001, 20_000 * 5_000)
    ]


@pytest.mark.slow
def test_an_export_that_has_too_little_memory_is_told_and_tried_again(
    one_track_writer: Writer, snapshots: Snapshots, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends nothing, leaves the files as they were, and has them written once it can be done."""
    snapshots.publish()
    snapshots.caught_up()
    publish_due(snapshots)
    before = snapshots.exports.read_manifest()
    lengthen(one_track_writer, rows=5_000)
    clock.now += 3600
    with monkeypatch.context() as patch:
        patch.setattr("indexer.catalog.published.exports.EXPORT_MEMORY", "4MB")

        publish_due(snapshots)

    [told] = snapshots.failures
    assert "more than the 4MB of memory that it may have" in told
    assert snapshots.exports.read_manifest() == before
    assert not list(snapshots.folder.glob("published*.partial*"))
    assert not snapshots.export_due
    clock.now += 3600
    publish_due(snapshots)
    assert snapshots.failures == []
    assert snapshots.exports.read_manifest().number == before.number + 1


def lengthen(writer: Writer, rows: int) -> None:
    """Copy the one track there is so often, with descriptions of 5,000 characters."""
    copy = "r + 1000 as key, r + 1000 as id, uri || r as uri, lpad(r::varchar, 5000, '.') as description"
    writer.reader().execute(
        f"insert into tracks by name select t.* replace ({copy}) from tracks as t, range({rows}) as n(r)"
    )
    writer.changes += 1
