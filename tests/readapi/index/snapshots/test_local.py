"""The door to snapshots: the newest, once per question, and the one before it when that has no answer."""

import asyncio
import os
from pathlib import Path

import duckdb
import pytest

from readapi.errors import IndexNotReady
from readapi.index.snapshots.interface import age_seconds
from readapi.index.snapshots.local import LocalSnapshots
from readapi.metrics import Metrics
from schemas import data_folder, steps
from schemas.settings import Settings
from tests.indexer.running import until

NUMBER = "select number from numbers"


def publish(data_dir: Path, name: str, number: int, *statements: str) -> Path:
    """What the indexer does: a new file, then the link moved to it in one step."""
    folder = data_dir / data_folder.SNAPSHOTS
    folder.mkdir(exist_ok=True)
    with duckdb.connect(folder / name) as con:
        con.execute("create table meta as select 'schema_version' as name, ? as value", [str(steps.VERSION)])
        con.execute("create table numbers as select ?::integer as number", [number])
        for statement in statements:
            con.execute(statement)
    point(folder, name)
    return folder / name


def point(folder: Path, name: str) -> None:
    """Move the link to a file."""
    (folder / "next").symlink_to(name)
    os.replace(folder / "next", folder / "current")


def open_files(path: Path) -> int:
    """How often this process has a file open."""
    descriptors = Path("/proc/self/fd").iterdir()
    return sum(os.readlink(held) == str(path) for held in descriptors if held.is_symlink())


@pytest.fixture
def catalog(tmp_path):
    opened = LocalSnapshots(Settings(data_dir=tmp_path))
    yield opened
    opened.close()


async def test_without_a_snapshot_questions_are_refused(catalog):
    """The refusal is one that clients know to repeat."""
    assert not await catalog.refresh()
    assert catalog.version is None
    assert age_seconds(catalog.as_of) is None
    with pytest.raises(IndexNotReady):
        await catalog.rows(NUMBER)


async def test_the_newest_snapshot_answers(catalog, tmp_path):
    """A link that moved is followed; a question put to the old one is still answered."""
    publish(tmp_path, "catalog-1.duckdb", 1)
    assert await catalog.refresh()
    assert not await catalog.refresh()
    before = asyncio.ensure_future(catalog.rows(NUMBER))
    await asyncio.sleep(0)

    publish(tmp_path, "catalog-2.duckdb", 2)
    assert await catalog.refresh()

    assert (await catalog.rows(NUMBER)).rows == [(2,)]
    assert (await before).rows == [(1,)]
    assert catalog.version == "catalog-2.duckdb"
    assert age_seconds(catalog.as_of) < 60


async def test_a_snapshot_of_another_version_is_not_asked(catalog, tmp_path):
    """Its tables are others; the first one of ours is asked as soon as it is published."""
    other = f"update meta set value = '{steps.VERSION - 1}'"
    publish(tmp_path, "catalog-1.duckdb", 1, other)
    assert not await catalog.refresh()
    with pytest.raises(IndexNotReady, match="of another version; the indexer publishes a new one"):
        await catalog.rows(NUMBER)
    assert open_files(tmp_path / data_folder.SNAPSHOTS / "catalog-1.duckdb") == 0

    publish(tmp_path, "catalog-2.duckdb", 2)
    assert await catalog.refresh()

    assert (await catalog.rows(NUMBER)).rows == [(2,)]


async def test_a_query_reads_the_snapshot_and_does_nothing_else(catalog, tmp_path):
    """It comes from another process: none of them needs more."""
    path = publish(tmp_path, "catalog-1.duckdb", 1)
    await catalog.refresh()
    (tmp_path / "keys.csv").write_text("a,b\n1,2\n")

    for sql in (
        f"select * from read_csv('{tmp_path}/keys.csv')",
        f"select * from '{tmp_path}/keys.csv'",
        f"copy numbers to '{path}.wal'",
        "create temp table numbers as select 2 as number",
        "set threads = 8",
        f"{NUMBER}; {NUMBER}",
    ):
        with pytest.raises(IndexNotReady):
            await catalog.rows(sql)

    assert {path.name for path in tmp_path.iterdir()} == {"keys.csv", data_folder.SNAPSHOTS}
    assert (await catalog.rows(NUMBER)).rows == [(1,)]


async def test_a_question_is_put_once_per_snapshot(catalog, tmp_path):
    """Many askers at once share one query."""
    publish(tmp_path, "catalog-1.duckdb", 1)
    await catalog.refresh()

    answers = await asyncio.gather(*(catalog.rows("select random()") for _ in range(5)))

    assert all(answer == answers[0] for answer in answers)


async def test_values_are_part_of_the_question(catalog, tmp_path):
    """The same query with other values is another question."""
    publish(tmp_path, "catalog-1.duckdb", 1)
    await catalog.refresh()

    assert (await catalog.rows("select $n + number from numbers", n=1)).rows == [(2,)]
    assert (await catalog.rows("select $n + number from numbers", n=2)).rows == [(3,)]


async def test_a_link_to_nothing_changes_nothing(catalog, tmp_path):
    """A snapshot pruned in the very moment, or damaged, is passed over and counted."""
    publish(tmp_path, "catalog-1.duckdb", 1)
    await catalog.refresh()
    folder = tmp_path / data_folder.SNAPSHOTS
    (folder / "catalog-8.duckdb").write_bytes(b"no database")

    for name in ("catalog-9.duckdb", "catalog-8.duckdb"):
        point(folder, name)
        assert not await catalog.refresh()
        assert not await catalog.refresh()

    assert (await catalog.rows(NUMBER)).rows == [(1,)]
    assert catalog.unopened == 2
    assert open_files(folder / "catalog-8.duckdb") == 0


async def test_what_was_read_is_not_held(catalog, tmp_path):
    """A question may need much; until the next one, next to nothing of it is kept."""
    publish(
        tmp_path,
        "catalog-1.duckdb",
        1,
        "create table hashes as select hash(range) as number from range(2_000_000)",
    )
    await catalog.refresh()
    await catalog.rows("select sum(number) from hashes")

    ((held,),), _ = await catalog.rows("select sum(memory_usage_bytes) from duckdb_memory()")

    assert held <= 1 << 20


async def test_deletions_do_not_fail_answers_and_are_not_held(tmp_path):
    """DuckDB pins 8 bytes for each row near a deleted one: here 16 MB, where questions may take 8."""
    catalog = LocalSnapshots(Settings(data_dir=tmp_path, query_memory="8MB"))
    publish(
        tmp_path,
        "catalog-1.duckdb",
        1,
        "create table likes as select range as key from range(2_000_000)",
        "checkpoint",
        "delete from likes where key % 500 = 0",
    )
    await catalog.refresh()

    for number in range(3):
        assert (await catalog.rows(f"select count(*), {number} from likes")).rows == [(1_996_000, number)]
    ((held,),), _ = await catalog.rows("select sum(memory_usage_bytes) from duckdb_memory()")
    catalog.close()

    assert held <= 4 << 20


BROKEN = "create view answers as select error('no answer')"
SOUND = "create view answers as select number from numbers"
ANSWERS = "select * from answers"


async def test_an_older_answer_is_better_than_none(catalog, tmp_path):
    """However many newer snapshots have none, the last one that answered is kept, and tells its own time."""
    sound = publish(tmp_path, "catalog-1.duckdb", 1, SOUND)
    os.utime(sound, (1_000_000_000, 1_000_000_000))
    await catalog.refresh()
    await catalog.rows(ANSWERS)

    for number in (2, 3, 4):
        publish(tmp_path, f"catalog-{number}.duckdb", number, BROKEN)
        await catalog.refresh()
        found = await catalog.rows(ANSWERS)
        assert found.rows == [(1,)]
        assert found.as_of.timestamp() == 1_000_000_000

    publish(tmp_path, "catalog-5.duckdb", 5, SOUND)
    await catalog.refresh()
    assert (await catalog.rows(ANSWERS)).rows == [(5,)]
    assert (catalog.failed, catalog.older) == (3, 3)


async def test_failures_are_told_and_counted(catalog, tmp_path):
    """No snapshot answers: the refusal is one to repeat, and operators see it."""
    publish(tmp_path, "catalog-1.duckdb", 1, BROKEN)
    await catalog.refresh()
    metrics = Metrics()
    catalog.watch(metrics)

    with pytest.raises(IndexNotReady):
        await catalog.rows(ANSWERS)

    text = metrics.text().decode()
    assert "fmsvc_snapshot_failures_total 1.0" in text
    assert "fmsvc_snapshots_open 1.0" in text


async def test_a_failed_question_leaves_the_snapshot_usable(catalog, tmp_path):
    """It connects anew, since DuckDB may refuse everything after a fatal error."""
    publish(tmp_path, "catalog-1.duckdb", 1, BROKEN)
    await catalog.refresh()

    with pytest.raises(IndexNotReady):
        await catalog.rows(ANSWERS)

    assert (await catalog.rows(NUMBER)).rows == [(1,)]


async def test_only_two_snapshots_are_open(tmp_path):
    """The rest are closed for good, failures and answers in memory or not: the indexer can delete them."""
    catalog = LocalSnapshots(Settings(data_dir=tmp_path))
    paths = []
    for number in range(1, 8):
        published = publish(tmp_path, f"catalog-{number}.duckdb", number, BROKEN if number % 2 else SOUND)
        paths.append(published)
        await catalog.refresh()
        await asyncio.gather(catalog.rows(ANSWERS), catalog.rows(NUMBER), return_exceptions=True)
    await catalog.rows(NUMBER)

    held = [path.name for path in paths if open_files(path)]

    assert held == ["catalog-6.duckdb", "catalog-7.duckdb"]
    catalog.close()
    assert not any(open_files(path) for path in paths)


async def test_a_snapshot_opened_during_the_end_is_closed(tmp_path):
    """The change-over is given up half way when a worker stops."""
    catalog = LocalSnapshots(Settings(data_dir=tmp_path))
    path = publish(tmp_path, "catalog-1.duckdb", 1)
    opening = asyncio.ensure_future(catalog.refresh())
    await asyncio.sleep(0)

    opening.cancel()
    catalog.close()

    assert open_files(path) == 0


async def test_the_end_does_not_wait_for_a_long_question(tmp_path):
    """It is interrupted, what waits behind it is refused, and what it put aside is removed."""
    catalog = LocalSnapshots(Settings(data_dir=tmp_path))
    path = publish(tmp_path, "catalog-1.duckdb", 1)
    await catalog.refresh()
    endless = (
        "select count(*) from range(10_000_000) a, range(10_000_000) b where hash(a.range + b.range) = 1"
    )
    asked = [asyncio.ensure_future(catalog.rows(question)) for question in (endless, endless + " or true")]
    await asyncio.sleep(0.1)

    catalog.close()

    told = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer) for answer in told] == [IndexNotReady, IndexNotReady]
    assert open_files(path) == 0
    assert sorted(left.name for left in path.parent.iterdir()) == ["catalog-1.duckdb", "current"]


async def test_what_memory_does_not_hold_is_put_aside_by_each_process_for_itself(tmp_path):
    """DuckDB's own choice is one folder for all who read the file, where they write over each other's."""
    catalog = LocalSnapshots(Settings(data_dir=tmp_path, query_memory="16MB"))
    path = publish(tmp_path, "catalog-1.duckdb", 1)
    await catalog.refresh()

    pairs = "select count(*) from range(1_000_000) a join range(1_000_000) b on hash(a.range) = hash(b.range)"
    asked = asyncio.ensure_future(catalog.rows(pairs))
    await until(lambda: len(list(path.parent.iterdir())) > 2)
    aside = {beside.name for beside in path.parent.iterdir()} - {"current", "catalog-1.duckdb"}

    assert (await asked).rows == [(1_000_000,)]
    assert [name.startswith(f"catalog-1.duckdb.{os.getpid()}-") for name in aside] == [True]
    catalog.close()
    assert {beside.name for beside in path.parent.iterdir()} == {"current", "catalog-1.duckdb"}
