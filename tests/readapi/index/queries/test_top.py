"""Top tracks count distinct people within a period, whatever a record claims about its own time."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from indexer.catalog import schema
from readapi.index.queries import top
from readapi.index.snapshots.local import LocalSnapshots
from schemas import data_folder
from schemas.ids import record_id
from schemas.settings import Settings
from tests.readapi import indexed
from tests.readapi.indexed import Indexed

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)

TRACK = """
    insert into tracks by name
    select
        $id as key, 'uri' || $id as uri, 'did:plc:artist' as did, $id as rkey, '' as rev, 'live' as state,
        'commit' as verified, now() as verified_at, $id as id, $visibility as visibility,
        $at::timestamp as created_at, $at::timestamp as indexed_at
"""
LIKE = """
    insert into likes by name
    select
        $key as key, 'like' || $key as uri, $did as did, $key as rkey, '' as rev, 'live' as state,
        'commit' as verified, now() as verified_at,
        hash($did || $track) % 1000000 as pair, $track as subject_key,
        $created::timestamp as created_at, $indexed::timestamp as indexed_at
"""


@pytest.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[LocalSnapshots]:
    """Track 1: two fresh likes. 2: three, a week old. 3: one, said to be of tomorrow. 4: unlisted."""
    path = tmp_path / data_folder.SNAPSHOTS / "catalog-1.duckdb"
    path.parent.mkdir()
    with duckdb.connect(path) as con:
        schema.prepare_tables(con)
        for number, visibility in ((1, "public"), (2, "public"), (3, "public"), (4, "unlisted")):
            con.execute(TRACK, {"id": number, "visibility": visibility, "at": f"2026-01-0{number}"})
        _likes(con, 1, "2026-03-31 06:00", "2026-03-31 06:00", people="ab")
        _likes(con, 1, "2026-03-31 07:00", "2026-03-31 07:00", people="a")
        _likes(con, 2, "2026-03-25 06:00", "2026-03-25 06:00", people="abc")
        _likes(con, 3, "2026-04-01 06:00", "2026-01-05 06:00", people="a")
        _likes(con, 4, "2026-03-31 06:00", "2026-03-31 06:00", people="abc")
    path.with_name("current").symlink_to(path.name)
    opened = LocalSnapshots(Settings(data_dir=tmp_path))
    await opened.refresh()
    yield opened
    opened.close()


def _likes(con: duckdb.DuckDBPyConnection, track: int, created: str, indexed: str, people: str) -> None:
    for person in people:
        (key,) = con.execute("select count(*) from likes").fetchone() or (0,)
        con.execute(
            LIKE,
            {"key": key, "did": f"did:plc:{person}", "track": track, "created": created, "indexed": indexed},
        )


@pytest.mark.parametrize(("period", "expected"), [("day", [1]), ("week", [2, 1]), ("month", [2, 1])])
async def test_a_period_counts_distinct_people(
    catalog: LocalSnapshots, period: top.Period, expected: list[int]
) -> None:
    """The same person twice is one; a like from the future counts from when it was first seen."""
    ids, _ = await top.find_top_tracks(catalog, period, NOW)

    assert ids == expected


async def test_a_period_ends_now(catalog: LocalSnapshots) -> None:
    """Two days later nobody liked anything within a day, though the snapshot is the same."""
    later = datetime(2026, 4, 2, 12, tzinfo=UTC)

    assert (await top.find_top_tracks(catalog, "day", later))[0] == []
    assert (await top.find_top_tracks(catalog, "week", later))[0] == [1]


def test_the_first_visible_tracks_are_read_and_few_others(tmp_path: Path) -> None:
    """Those that were hidden (0 to 39) or deleted (45) since the snapshot are skipped."""
    stores, ana = Indexed(tmp_path), indexed.person("ana")
    hides = [("private" if number < 40 else "public") for number in range(100)]
    stores.write(
        indexed.track_documents(number, f"Take {number}", ana, visibility=visibility)
        for number, visibility in enumerate(hides)
        if number != 45
    )
    ids = [record_id(f"at://{ana.did}/fm.svc.track/{number}") for number in range(100)]
    public = [number for number in range(40, 100) if number != 45]

    for begin, limit, most_read in ((0, 100, 99), (30, 10, 49), (50, 10, 10), (95, 10, 5)):
        before = stores.index.catalog.rows_read
        found = top.first_visible(stores.index, ids[begin:], None, limit)

        assert [card.key for card in found] == [number for number in public if number >= begin][:limit]
        assert stores.index.catalog.rows_read - before <= most_read
    stores.close()
