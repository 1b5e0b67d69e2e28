"""The door to snapshots: the newest, once per question."""

import asyncio
import os
from pathlib import Path

import duckdb
import pytest

from readapi.catalog import Catalog
from readapi.errors import IndexNotReady
from schemas.settings import Settings


def publish(data_dir: Path, name: str, number: int) -> None:
    """What the indexer does: a new file, then the link moved to it in one step."""
    folder = data_dir / "snapshots"
    folder.mkdir(exist_ok=True)
    with duckdb.connect(folder / name) as con:
        con.execute("create table numbers as select ?::integer as number", [number])
    (folder / "next").symlink_to(name)
    os.replace(folder / "next", folder / "current")


@pytest.fixture
def catalog(tmp_path):
    opened = Catalog(Settings(data_dir=tmp_path))
    yield opened
    opened.close()


async def test_without_a_snapshot_questions_are_refused(catalog):
    """The refusal is one that clients know to repeat."""
    assert not await catalog.refresh()
    assert catalog.version is None
    assert catalog.age_seconds() is None
    with pytest.raises(IndexNotReady):
        _ = catalog.current


async def test_the_newest_snapshot_answers(catalog, tmp_path):
    """A link that moved is followed; who still reads the old one is not disturbed."""
    publish(tmp_path, "catalog-1.duckdb", 1)
    assert await catalog.refresh()
    assert not await catalog.refresh()
    before = catalog.current

    publish(tmp_path, "catalog-2.duckdb", 2)
    assert await catalog.refresh()

    assert await catalog.current.rows("select number from numbers") == [(2,)]
    assert await before.rows("select number from numbers") == [(1,)]
    assert catalog.version == "catalog-2.duckdb"
    assert catalog.age_seconds() < 60


async def test_a_question_is_put_once_per_snapshot(catalog, tmp_path):
    """Many askers at once share one query; a failure is not remembered."""
    publish(tmp_path, "catalog-1.duckdb", 1)
    await catalog.refresh()
    counting = "select random()"

    answers = await asyncio.gather(*(catalog.current.rows(counting) for _ in range(5)))

    assert all(answer == answers[0] for answer in answers)
    for _ in range(2):
        with pytest.raises(duckdb.Error):
            await catalog.current.rows("select nothing")


async def test_values_are_part_of_the_question(catalog, tmp_path):
    """The same query with other values is another question."""
    publish(tmp_path, "catalog-1.duckdb", 1)
    await catalog.refresh()

    assert await catalog.current.rows("select $n + number from numbers", n=1) == [(2,)]
    assert await catalog.current.rows("select $n + number from numbers", n=2) == [(3,)]


async def test_a_link_to_nothing_changes_nothing(catalog, tmp_path):
    """A snapshot pruned in the very moment is passed over."""
    publish(tmp_path, "catalog-1.duckdb", 1)
    await catalog.refresh()
    folder = tmp_path / "snapshots"
    (folder / "next").symlink_to("catalog-9.duckdb")
    os.replace(folder / "next", folder / "current")

    assert not await catalog.refresh()

    assert await catalog.current.rows("select number from numbers") == [(1,)]


async def test_what_was_read_is_not_held(catalog, tmp_path):
    """A question may need much; until the next one, next to nothing of it is kept."""
    publish(tmp_path, "catalog-1.duckdb", 1)
    with duckdb.connect(tmp_path / "snapshots" / "catalog-1.duckdb") as con:
        con.execute("create table hashes as select hash(range) as number from range(2_000_000)")
    await catalog.refresh()
    await catalog.current.rows("select sum(number) from hashes")

    ((held,),) = await catalog.current.rows("select sum(memory_usage_bytes) from duckdb_memory()")

    assert held <= 1 << 20


async def test_what_memory_does_not_hold_is_put_aside_by_each_process_for_itself(catalog, tmp_path):
    """DuckDB's own choice is one folder for all who read the file, where they write over each other's."""
    publish(tmp_path, "catalog-1.duckdb", 1)
    await catalog.refresh()

    pairs = "select count(*) from range(3_000_000) a join range(3_000_000) b on hash(a.range) = hash(b.range)"
    assert await catalog.current.rows(pairs) == [(3_000_000,)]

    beside = {path.name for path in (tmp_path / "snapshots").iterdir()}
    assert beside == {"current", "catalog-1.duckdb", f"catalog-1.duckdb.{os.getpid()}.tmp"}
