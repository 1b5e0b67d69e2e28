"""Tags are found by their beginning, however many there are, and few of them are handed out."""

from collections.abc import AsyncIterator
from pathlib import Path

import duckdb
import pytest

from indexer.catalog import schema
from readapi.index.queries import tags
from readapi.index.snapshots.local import LocalSnapshots
from schemas import data_folder
from schemas.settings import Settings

# Ever so many tags that are used twice, and one that is used once.
FILL = """
    insert into tracks by name
    select
        n as key, 'uri' || n as uri, 'did:plc:artist' as did, n as rkey, '' as rev, 'live' as state,
        'commit' as verified, now() as verified_at, n as id, 'public' as visibility, now() as indexed_at
    from range(2) as numbers(n);

    insert into track_tags select n % 2, 0, 'often' || n // 2 from range($tags * 2) as numbers(n);
    insert into track_tags values (0, 0, 'rarely')
"""


@pytest.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[LocalSnapshots]:
    """More tags than are counted for everybody."""
    path = tmp_path / data_folder.SNAPSHOTS / "catalog-1.duckdb"
    path.parent.mkdir()
    with duckdb.connect(path) as con:
        schema.prepare_tables(con)
        for statement in FILL.split(";"):
            con.execute(statement, {"tags": tags.WELL_USED + 5} if "$tags" in statement else {})
    path.with_name("current").symlink_to(path.name)
    opened = LocalSnapshots(Settings(data_dir=tmp_path))
    await opened.refresh()
    yield opened
    opened.close()


async def test_a_tag_that_hardly_anybody_uses_is_found(catalog: LocalSnapshots) -> None:
    """By its beginning, behind ten thousand that are used more."""
    found, _ = await tags.count_tags(catalog, "RAR", 20)

    assert [(tag.name, tag.track_count) for tag in found] == [("rarely", 1)]


async def test_the_most_used_come_first(catalog: LocalSnapshots) -> None:
    """And by name where as many tracks carry them; no more of them are read than the well used ones."""
    found, _ = await tags.count_tags(catalog, "often1", 3)

    used, _ = await catalog.rows(tags.COUNTED, beginning="", most=tags.WELL_USED)
    assert [tag.name for tag in found] == ["often1", "often10", "often100"]
    assert len(used) == tags.WELL_USED


NAMES = (
    "a",
    "ab",
    "abc",
    "b",
    "ä",
    "äb",
    "\uffff",
    "\uffffx",
    "\U00010000",
    "\U0001f3b5",
    "\U0001f3b5b",
    "日本",
    "日本語",
)


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_every_beginning_finds_what_the_catalogue_does(tmp_path: Path, limit: int) -> None:
    """In the order of use and then of names, also where UTF-16 would order them otherwise."""
    path = tmp_path / data_folder.SNAPSHOTS / "catalog-1.duckdb"
    path.parent.mkdir()
    with duckdb.connect(path) as con:
        schema.prepare_tables(con)
        con.execute(FILL.split(";")[0])
        for number, name in enumerate(NAMES):
            con.executemany(
                "insert into track_tags values (?, 0, ?)", [[key, name] for key in range(1 + number % 2)]
            )
    path.with_name("current").symlink_to(path.name)
    catalog = LocalSnapshots(Settings(data_dir=tmp_path))
    await catalog.refresh()

    for beginning in {name[:length] for name in NAMES for length in range(len(name) + 1)} | {"x", "\uffffxx"}:
        found, _ = await tags.count_tags(catalog, beginning, limit)
        expected, _ = await catalog.rows(tags.COUNTED, beginning=beginning, most=limit)
        assert [(tag.name, tag.track_count, tag.total_plays) for tag in found] == expected
    catalog.close()
