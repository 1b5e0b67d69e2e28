"""Exports hold what everybody may see, and changes lead from one state to the next.

EXPORT_HISTORIES sets how many random histories are exported (58; make test-long 5,000). Up to 200
share a store, and in each of its transactions each of them takes a step, as accounts do in the network's
stream.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, product, repeat
from pathlib import Path

import duckdb
import pytest

from indexer.catalog.published.exports import FULLS_KEPT, Exports
from indexer.catalog.published.snapshots import Snapshots
from indexer.catalog.writing.writer import Writer
from indexer.faults import StoreError
from schemas import exports
from schemas.access import DOWNLOADS, LISTENING, VISIBILITY, Access, Viewer, may_download, may_see
from schemas.api.exports import Export
from schemas.settings import Settings
from tests import documents
from tests.indexer import empty_catalogues
from tests.indexer.catalog.published.histories import STATES, History, proceed_together
from tests.indexer.changes import album, comment, delete, did, like, put, settings, uri, write

HISTORIES = int(os.environ.get("EXPORT_HISTORIES", "58"))
STORE_SIZE = 200
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
LATE = "2026-12-31T00:00:00.000Z"  # so that when it was written counts
NOBODY: Viewer | None = None


class Publisher:
    """A catalogue and its exports, each made an hour after the one before."""

    def __init__(self, folder: Path, **fields: float) -> None:
        self.settings = settings(folder, **fields)
        empty_catalogues.begin(folder)
        self.writer = Writer.open(self.settings)
        self.snapshots = Snapshots(self.settings, self.writer)
        self.exports = self.snapshots.exports
        self.now = NOON

    def export(self) -> list[Export]:
        """Export what was written. Returns what the manifest then names of this state."""
        assert self.snapshots.publish() is not None
        self.now += timedelta(hours=1)
        snapshot, series = (self.snapshots.folder / name for name in ("current", "series"))
        manifest = self.exports.make(snapshot.resolve(), series.resolve(), self.now)
        return [export for export in manifest.exports if export.number == manifest.number]


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[Publisher]:
    made = Publisher(tmp_path)
    yield made
    made.writer.close()


def load(con: duckdb.DuckDBPyConnection, folder: Path, export: Export) -> None:
    """Make tables of all rows, or apply changes to them, as docs/exports.md says."""
    files = {file.table: folder / file.path for file in export.files}
    for table in exports.TABLES:
        if export.kind == "full":
            con.execute(f"create or replace table {table.name} as from '{files[table.name]}'")
        elif table.name in files:
            changes, key = f"from '{files[table.name]}'", ", ".join(table.key)
            con.execute(f"delete from {table.name} where ({key}) in (select ({key}) {changes})")
            con.execute(
                f"insert into {table.name} by name select * exclude change {changes} where change = 'upsert'"
            )


def rows(con: duckdb.DuckDBPyConnection) -> dict[str, list[dict[str, object]]]:
    """All rows of all tables, in order."""
    return {
        table.name: con.sql(f"from {table.name} order by all").to_arrow_table().to_pylist()
        for table in exports.TABLES
    }


def stores() -> Iterator[range]:
    """The seeds of the histories, by the store that they share: in small ones some tables do not change."""
    done = 0
    for size in chain((1, 7), repeat(STORE_SIZE)):
        if done == HISTORIES:
            return
        seeds = range(done, min(done + size, HISTORIES))
        done = seeds.stop
        yield seeds


def name_of(seeds: range) -> str:
    return f"{seeds.start}-{seeds.stop - 1}"


def assert_same(
    follower: duckdb.DuckDBPyConnection, whole: duckdb.DuckDBPyConnection, histories: dict[int, History]
) -> None:
    """All tables have the same rows; else the histories of the others are named."""
    ours, theirs = rows(follower), rows(whole)
    if ours != theirs:
        told = [
            str(row)
            for table in ours
            for one, other in ((ours[table], theirs[table]), (theirs[table], ours[table]))
            for row in one
            if row not in other
        ]
        seeds = [n for n, one in histories.items() if any(who in row for row in told for who in one.dids)]
        pytest.fail(f"histories {seeds}: {told}")


@pytest.mark.parametrize("seeds", list(stores()), ids=name_of)
@pytest.mark.slow
def test_all_rows_and_changes_give_all_rows_of_the_next_state(tmp_path: Path, seeds: range) -> None:
    """With deletions, removed accounts and changes of access, through every state of a history.

    Nothing is in a file but what `schemas/access.py` shows to everybody, and the keys of what was before.
    """
    histories = {seed: History(seed) for seed in seeds}
    publisher = Publisher(tmp_path, parquet_full_seconds=0)
    seen: set[str] = set()
    with duckdb.connect() as follower, duckdb.connect() as whole:
        for _ in range(STATES):
            for batch in proceed_together(list(histories.values())):
                publisher.writer.write(batch)
            made = {export.kind: export for export in publisher.export()}
            if changes := made.get("changes"):
                assert_only_known_rows_go(follower, publisher.exports.folder, changes)
            load(follower, publisher.exports.folder, made.get("changes", made["full"]))
            load(whole, publisher.exports.folder, made["full"])

            assert_same(follower, whole, histories)
            shown = {
                uri_: is_open for one in histories.values() for uri_, is_open in one.downloadable().items()
            }
            assert dict(whole.execute("select uri, audio_url is not null from tracks").fetchall()) == shown
            for table in ("track_tags", "list_items", "likes", "comments", "daily_counts"):
                named = whole.execute(f"select distinct track_uri from {table}").fetchall()
                assert {uri_ for (uri_,) in named} <= shown.keys(), table
            gone = whole.execute("select uri from deletions where table_name = 'tracks'").fetchall()
            assert {uri_ for (uri_,) in gone} == seen - shown.keys()
            seen |= shown.keys()
    publisher.writer.close()


def assert_only_known_rows_go(follower: duckdb.DuckDBPyConnection, folder: Path, changes: Export) -> None:
    """A file of changes names as deleted only what the state before had."""
    for file in changes.files:
        [table] = [table for table in exports.TABLES if table.name == file.table]
        key = ", ".join(table.key)
        gone = f"from '{folder / file.path}' where change = 'delete'"
        unknown = follower.execute(f"select {key} {gone} except select {key} from {table.name}").fetchall()
        assert not unknown, table.name


def test_an_export_holds_what_everybody_may_see(publisher: Publisher) -> None:
    """Of each combination of access settings; audio only of what everybody may download."""
    combinations = [
        Access(did("ana"), *settings_) for settings_ in product(LISTENING, DOWNLOADS, VISIBILITY)
        if settings_[0] != "space"
    ]  # fmt: skip
    for number, access in enumerate(combinations):
        named = {
            "listening": access.listening, "downloads": access.downloads, "visibility": access.visibility
        }  # fmt: skip
        where = uri("ana", "track", number)
        address = f"https://music.example/{number}.mp3"
        write(
            publisher.writer,
            put("ana", "track", number, at=number + 1, access=named, audioUrl=address, tags=[f"tag{number}"]),
            like("ben", where, number, at=number + 1),
            comment("ben", where, number, at=number + 1, text=f"on {number}"),
            album("ben", [where], number, at=number + 1),
        )
    [full] = publisher.export()

    shown = [n for n, access in enumerate(combinations) if may_see(access, NOBODY, "discovery")]
    heard = [n for n in shown if may_download(combinations[n], NOBODY)]
    with duckdb.connect() as con:
        load(con, publisher.exports.folder, full)
        found = con.execute("select uri from tracks order by uri").fetchall()
        assert found == [(str(uri("ana", "track", n)),) for n in shown]
        assert con.execute("select count(*) from tracks where audio_url is not null").fetchall() == [
            (len(heard),)
        ]
        for table in ("track_tags", "likes", "comments", "list_items", "daily_counts"):
            named_ = con.execute(f"select distinct track_uri from {table} order by all").fetchall()
            assert named_ == found, table
    hidden = [n for n in range(len(combinations)) if n not in shown]
    text = b"".join(path.read_bytes() for path in publisher.exports.folder.rglob("*.json"))
    assert not any(str(uri("ana", "track", n)).encode() in text for n in hidden)


def test_what_is_published_is_described(publisher: Publisher) -> None:
    """Columns and types as documented, times with a timezone, sizes and hashes of the files as they are."""
    write(publisher.writer, put("ana", "track", at=1))
    [full] = publisher.export()

    assert [file.table for file in full.files] == [table.name for table in exports.TABLES]
    for file, table in zip(full.files, exports.TABLES, strict=True):
        path = publisher.exports.folder / file.path
        described = duckdb.sql(f"describe from '{path}'").fetchall()
        types = [type_.replace("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ") for _, type_, *_ in described]
        assert [name for name, *_ in described] == [column.name for column in table.columns]
        assert types == [column.type for column in table.columns]
        assert (file.bytes, file.sha256) == (
            path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest()
        )  # fmt: skip
        assert duckdb.sql(f"select count(*) from '{path}'").fetchall() == [(file.rows,)]


def test_counts_equal_the_rows_that_they_count(publisher: Publisher) -> None:
    """Likes and comments by the day, and a second like of the same track does not count."""
    track = uri("ana", "track")
    write(
        publisher.writer,
        put("ana", "track", at=1),
        like("ben", track, 1, at=2),
        put("ben", "like", 90_000, at=90_000, subject=documents.strong_ref(str(track)), createdAt=LATE),
        put("cleo", "like", 90_001, at=90_001, subject=documents.strong_ref(str(track)), createdAt=LATE),
        comment("ben", track, 3, at=3),
    )
    [full] = publisher.export()

    with duckdb.connect() as con:
        con.execute("set TimeZone = 'UTC'")
        load(con, publisher.exports.folder, full)
        counted = con.execute("select day, likes, comments from daily_counts order by day").fetchall()
        by_day = con.execute(
            """
            select day, count(*) filter (kind = 'like'), count(*) filter (kind = 'comment')
            from (
                select counted_at::date as day, 'like' as kind from likes
                union all select counted_at::date, 'comment' from comments
            )
            group by day order by day
            """
        ).fetchall()
    assert counted == by_day
    assert [likes for _, likes, _ in counted] == [1, 1]


@pytest.mark.slow
def test_old_exports_go_a_round_after_the_manifest_ceases_to_name_them(tmp_path: Path) -> None:
    """Those are kept that lead from the oldest full one on to the newest state."""
    publisher = Publisher(tmp_path, parquet_full_seconds=2 * 3600)
    folders: list[set[str]] = []
    for number in range(1, 4 * FULLS_KEPT):
        write(publisher.writer, put("ana", "track", number, at=number))
        publisher.export()
        manifest = publisher.exports.read_manifest()
        folders.append(manifest.folders)
        kinds = [(export.number, export.kind) for export in manifest.exports]

        assert kinds[0] == (kinds[0][0], "full")
        assert len([kind for _, kind in kinds if kind == "full"]) <= FULLS_KEPT
        assert [n for n, kind in kinds if kind == "changes"] == list(range(kinds[0][0] + 1, number + 1))
        assert {path.name for path in publisher.exports.folder.iterdir() if path.is_dir()} == set().union(
            *folders[-2:]
        )
    publisher.writer.close()


def cut_short(publisher: Publisher, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Export, but die where this function of the module is called."""

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"indexer.catalog.published.exports.{at}", die)
        with pytest.raises(KeyboardInterrupt):
            publisher.export()


@pytest.mark.parametrize("at", ["write_tables", "changes_of", "sync", "orjson.dumps", "point", "prune"])
@pytest.mark.slow
def test_an_export_that_is_cut_short_leaves_the_next_one_whole(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """Wherever it was, a follower of the manifest has all rows in the end."""
    write(publisher.writer, put("ana", "track", 1, at=1))
    publisher.export()
    write(publisher.writer, put("ana", "track", 2, at=2))
    cut_short(publisher, monkeypatch, at)
    write(publisher.writer, delete("ana", "track", 1, at=3))
    publisher.exports = Exports(publisher.settings)
    publisher.export()

    with duckdb.connect() as follower:
        for export in publisher.exports.read_manifest().exports:
            load(follower, publisher.exports.folder, export)
        assert follower.execute("select uri from tracks").fetchall() == [(str(uri("ana", "track", 2)),)]
    names = {path.name for path in publisher.exports.folder.iterdir() if path.is_dir()}
    assert not any(name.endswith(".partial") for name in names)


@pytest.mark.parametrize("lost", ["published-1.duckdb", "published"])
@pytest.mark.slow
def test_without_the_state_before_all_rows_are_exported(publisher: Publisher, lost: str) -> None:
    """Nothing else can tell what changed; a link that is lost matters to nothing."""
    write(publisher.writer, put("ana", "track", 1, at=1))
    publisher.export()
    (publisher.snapshots.folder / lost).unlink()
    write(publisher.writer, put("ana", "track", 2, at=2))

    kinds = [export.kind for export in publisher.export()]

    assert kinds == (["full"] if lost == "published-1.duckdb" else ["changes"])


def test_exports_that_begin_anew_have_another_lineage(publisher: Publisher) -> None:
    """As those of another indexer have. Exports without one, of an earlier version, stay."""
    write(publisher.writer, put("ana", "track", 1, at=1))
    publisher.export()
    first = publisher.exports.read_manifest()
    write(publisher.writer, put("ana", "track", 2, at=2))
    publisher.export()
    second = publisher.exports.read_manifest()
    path = publisher.exports.folder / "manifest.json"
    path.write_bytes(json.dumps(json.loads(path.read_bytes()) | {"lineage": None}).encode())
    write(publisher.writer, put("ana", "track", 3, at=3))
    publisher.export()
    third = publisher.exports.read_manifest()
    shutil.rmtree(publisher.exports.folder)
    publisher.exports.folder.mkdir()
    write(publisher.writer, put("ana", "track", 4, at=4))
    publisher.export()
    anew = publisher.exports.read_manifest()

    assert first.lineage == second.lineage is not None
    assert {one.number for one in third.exports} == {1, 2, 3}
    assert len({second.lineage, third.lineage, anew.lineage}) == 3
    assert anew.number == 1


def test_two_indexers_give_exports_of_one_second_different_names(tmp_path: Path) -> None:
    """A change-over between them leaves no address with other content."""
    names: list[set[str]] = []
    for name in ("one", "other"):
        publisher = Publisher(tmp_path / name)
        write(publisher.writer, put("ana", "track", at=1, title=name))
        publisher.export()
        names.append(publisher.exports.read_manifest().folders)
        publisher.writer.close()

    assert names[0].isdisjoint(names[1])


def test_of_the_same_snapshot_nothing_is_exported_again(publisher: Publisher) -> None:
    """An idle catalogue costs nothing, and its files stay."""
    publisher.export()
    before = publisher.exports.read_manifest()

    assert publisher.snapshots.export() == before


def test_a_damaged_manifest_is_refused_with_what_to_do(publisher: Publisher) -> None:
    """It is not written over: files that followers read would be lost with it."""
    publisher.export()
    manifest = publisher.exports.folder / "manifest.json"
    manifest.write_text("{")

    with pytest.raises(
        StoreError, match=r"cannot be read: .* Remove the folder .*exports: its files are made anew"
    ):
        publisher.export()

    assert manifest.read_text() == "{"


def test_the_manifest_names_licence_and_contact(tmp_path: Path) -> None:
    """As the operator set them."""
    set_ = Settings(data_dir=tmp_path, export_license="CC0-1.0", export_contact="mailto:data@music.example")

    manifest = Exports(set_).read_manifest()

    assert (manifest.license, manifest.contact) == ("CC0-1.0", "mailto:data@music.example")
