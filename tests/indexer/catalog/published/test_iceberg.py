"""The Iceberg tables hold what the exports hold, whatever happened before, and keep to their room."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import duckdb
import polars
import pytest
from pyiceberg.table import Table

from indexer.catalog.published.iceberg import apply_export, data_files, follow, sweep
from indexer.catalog.published.iceberg.process import RETRY_SECONDS, IcebergProcess
from indexer.catalog.published.iceberg.warehouse import Place, Warehouse
from indexer.faults import StoreError
from schemas import exports
from schemas.api.exports import IcebergTables
from schemas.settings import Settings
from tests.duckdb_extensions import load_iceberg
from tests.indexer.catalog.published.histories import STATES, History
from tests.indexer.catalog.published.test_exports import Publisher, load, rows
from tests.indexer.catalog.published.test_snapshots import publish_due
from tests.indexer.changes import delete, put, write
from tests.postgres import new_database
from tests.readapi.audio.bucket import bucket_url
from tests.readapi.conftest import s3

TRACKS = exports.TABLES[0]
__all__ = ["s3"]


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[Publisher]:
    made = Publisher(tmp_path, parquet_full_seconds=0)
    yield made
    made.writer.close()


def place_of(publisher: Publisher) -> Place:
    return Place(str(publisher.settings.data_dir.resolve()), None, None)


def follow_tracks(publisher: Publisher) -> Table:
    """Bring the table of tracks to the newest state, for what is the same of all tables."""
    follow.follow_exports(place_of(publisher), [TRACKS])
    return open_tracks(place_of(publisher))


def open_tracks(place: Place) -> Table:
    with closing(Warehouse(place)) as warehouse:
        return warehouse.open_table(TRACKS)


def states(table: Table) -> list[int]:
    """The numbers of the states that it has snapshots of."""
    ordered = sorted(table.metadata.snapshots, key=lambda snapshot: snapshot.sequence_number or 0)
    return [int(snapshot.summary["fmsvc.state"] or 0) for snapshot in ordered if snapshot.summary]


def titles(table: Table) -> list[str]:
    return sorted(table.scan().to_arrow()["title"].to_pylist())


def exported(publisher: Publisher) -> dict[str, list[dict[str, object]]]:
    """All rows of the newest export."""
    full = publisher.exports.read_manifest().newest_full
    assert full is not None
    with duckdb.connect(config={"threads": 1}) as con:
        con.execute("set TimeZone = 'UTC'")
        load(con, publisher.exports.folder, full)
        return rows(con)


def read_by_duckdb(metadata: dict[str, str]) -> dict[str, list[dict[str, object]]]:
    with duckdb.connect(config={"threads": 1}) as con:
        load_iceberg(con)
        con.execute("set TimeZone = 'UTC'")
        for name, path in metadata.items():
            con.execute(f"create table {name} as from iceberg_scan('{path}')")
        return rows(con)


def read_by_polars(metadata: dict[str, str]) -> dict[str, list[dict[str, object]]]:
    with duckdb.connect(config={"threads": 1}) as con:
        con.execute("set TimeZone = 'UTC'")
        for name, path in metadata.items():
            con.register("read", polars.scan_iceberg(path).collect().to_arrow())
            con.execute(f"create table {name} as from read")
        return rows(con)


def newest_metadata(publisher: Publisher) -> dict[str, str]:
    """The addresses of the metadata, as a reader without a catalogue finds them."""
    folder = publisher.settings.data_dir / "iceberg"
    told = IcebergTables.model_validate_json((folder / "tables.json").read_bytes())
    return {table.table: str(folder / "warehouse" / table.metadata) for table in told.tables}


@pytest.mark.slow
def test_engines_read_what_the_exports_hold_after_any_history(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB and Polars, after deletions and removed accounts, whether files were merged or copied."""
    monkeypatch.setattr(apply_export, "SMALL_FILES", 1)
    monkeypatch.setattr(data_files, "GROUP_BYTES", 1)  # many row groups
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")
    history = History(3)
    for second in range(1, STATES + 1):
        for batch in history.proceed():
            publisher.writer.write(batch)
        publisher.export()
        if second in {1, 3, 5}:  # two exports at once; then files that are copied, not merged
            assert follow.follow_exports(place_of(publisher)) == second
            monkeypatch.setattr(apply_export, "_SMALL_BYTES", 0)
            wanted, metadata = exported(publisher), newest_metadata(publisher)

            assert read_by_duckdb(metadata) == wanted
            assert read_by_polars(metadata) == wanted
    assert any(wanted.values())
    assert states(open_tracks(place_of(publisher))) == [1, 2, 3, 4, 5]


def test_a_state_that_is_there_is_not_written_again(publisher: Publisher) -> None:
    """Though the note of it was lost."""
    publisher.export()
    before = follow_tracks(publisher).metadata_location
    (publisher.settings.data_dir / "iceberg" / "tables.json").unlink()

    table = follow_tracks(publisher)

    assert table.metadata_location == before
    assert states(table) == [1]
    assert newest_metadata(publisher)["tracks"].endswith(before.rpartition("/")[2])


@pytest.mark.parametrize("at", ["apply_export._commit", "follow._tell"])
@pytest.mark.slow
def test_a_run_that_is_cut_short_leaves_the_next_one_right(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """Before or after a table has its snapshot, each state is written once."""
    write(publisher.writer, *(put("ana", "track", n, at=1, title=f"{n}") for n in (1, 2)))
    publisher.export()
    follow_tracks(publisher)
    write(publisher.writer, delete("ana", "track", 2, at=2), put("ana", "track", 3, at=2, title="3"))
    publisher.export()

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"indexer.catalog.published.iceberg.{at}", die)
        with pytest.raises(KeyboardInterrupt):
            follow_tracks(publisher)
    table = follow_tracks(publisher)

    assert titles(table) == ["1", "3"]
    assert states(table) == [1, 2]


@pytest.mark.slow
def test_old_snapshots_and_their_files_go(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stays is named by the snapshots that are kept, and can be read."""
    monkeypatch.setattr(sweep, "SNAPSHOTS_KEPT", 2)
    monkeypatch.setattr(sweep, "UNNAMED_KEPT", timedelta(0))
    for number in range(1, 5):
        write(publisher.writer, put("ana", "track", 1, at=number, title=str(number)))
        publisher.export()
        table = follow_tracks(publisher)

    assert states(table) == [3, 4]
    kept = sorted(table.metadata.snapshots, key=lambda snapshot: snapshot.sequence_number or 0)
    assert [table.scan(snapshot_id=one.snapshot_id).to_arrow()["title"].to_pylist() for one in kept] == [
        ["3"], ["4"]
    ]  # fmt: skip
    assert len(list((publisher.settings.data_dir / "iceberg/warehouse/tracks/data").iterdir())) == 2


def test_exports_that_begin_anew_replace_all_rows(publisher: Publisher) -> None:
    """Their numbers begin at 1 again, so the time of a state counts, too."""
    write(publisher.writer, put("ana", "track", 1, at=1, title="old"))
    publisher.export()
    follow_tracks(publisher)
    (publisher.exports.folder / "manifest.json").unlink()
    write(publisher.writer, delete("ana", "track", 1, at=2), put("ana", "track", 2, at=2, title="new"))
    publisher.export()

    table = follow_tracks(publisher)

    assert titles(table) == ["new"]
    assert states(table) == [1, 1]


def test_a_warehouse_that_was_lost_is_made_anew(publisher: Publisher) -> None:
    """The catalogue still names its metadata."""
    write(publisher.writer, put("ana", "track", 1, at=1, title="here"))
    publisher.export()
    follow_tracks(publisher)
    warehouse = publisher.settings.data_dir / "iceberg" / "warehouse"
    warehouse.rename(warehouse.with_name("lost"))

    assert titles(follow_tracks(publisher)) == ["here"]


@pytest.mark.slow
async def test_postgresql_and_s3_keep_the_tables(publisher: Publisher, postgres: str, s3: str) -> None:
    """By settings; nothing of the tables is on the disk then, and the note of them has no password."""
    bucket = f"tables-{uuid4().hex}"
    database = await new_database(postgres, f"iceberg-{uuid4().hex}")
    place = Place(str(publisher.settings.data_dir), database, bucket_url(s3, bucket))
    for number in (1, 2):
        write(publisher.writer, put("ana", "track", 1, at=number, title=f"afar {number}"))
        publisher.export()
        follow.follow_exports(place, [TRACKS])

    table = open_tracks(place)
    assert urlsplit(table.metadata_location).netloc == bucket
    assert titles(table) == ["afar 2"]
    assert states(table) == [1, 2]
    assert {path.name for path in place.folder.iterdir()} == {"lock", "tables.json"}
    told = (place.folder / "tables.json").read_text()
    assert f'"s3://{bucket}/music"' in told
    assert "access_key" not in told


def run(process: IcebergProcess, state: int) -> None:
    """Let a run that is due go to its end."""
    process.want(state)
    assert process.is_due
    process.start()
    assert not process.is_due
    assert process._process is not None
    process._process.wait(60)
    assert process.has_ended
    process.finish()


@pytest.mark.slow
def test_a_run_that_fails_says_why_and_is_tried_again(publisher: Publisher) -> None:
    """In a while; meanwhile the exports go on."""
    now = [0.0]
    settings = publisher.settings.model_copy(update={"iceberg": True})
    process = IcebergProcess(settings, lambda: now[0])
    publisher.export()
    database = place_of(publisher).folder / "catalog.db"
    database.parent.mkdir()
    database.write_text("no database of any kind")

    with pytest.raises(StoreError, match="file is not a database"):
        run(process, 1)

    assert not process.is_due
    now[0] += RETRY_SECONDS
    assert process.is_due


@pytest.mark.slow
def test_each_export_is_followed(tmp_path: Path) -> None:
    """By a process that the indexer starts, and looks at when it has ended."""
    publisher = Publisher(tmp_path, iceberg=True)
    write(publisher.writer, put("ana", "track", 1, at=1, title="followed"))
    snapshots = publisher.snapshots
    snapshots.caught_up()
    publish_due(snapshots)
    assert snapshots.iceberg._process is not None
    snapshots.iceberg._process.wait(60)
    assert snapshots.iceberg.has_ended

    publish_due(snapshots)

    assert snapshots.failures == []
    assert not snapshots.iceberg.has_ended
    assert not snapshots.iceberg.is_due
    assert newest_metadata(publisher).keys() == {table.name for table in exports.TABLES}
    assert titles(open_tracks(place_of(publisher))) == ["followed"]
    snapshots.close()
    publisher.writer.close()


def test_two_processes_never_write_at_once(publisher: Publisher) -> None:
    """The second would remove what the first has not committed."""
    publisher.export()
    place = place_of(publisher)
    place.folder.mkdir()
    with follow._locked(place.folder / "lock"), pytest.raises(StoreError, match="Another process writes"):
        follow.follow_exports(place)


def test_unknown_options_of_s3_are_refused() -> None:
    """By name; the known ones are told."""
    place = Place("data", None, "s3://bucket/prefix?regoin=eu")

    with pytest.raises(StoreError, match=r"has an option regoin; known: region, endpoint, "):
        _ = place.file_properties


def test_it_is_off_by_default(tmp_path: Path) -> None:
    """The tables take as much room again as a full export."""
    process = IcebergProcess(Settings(data_dir=tmp_path))
    process.want(1)

    assert not process.is_due
