"""Snapshots and the rest that follow: put together from blocks, most of which are here."""

import asyncio
import os
import sys
from pathlib import Path
from subprocess import DEVNULL, PIPE

import duckdb
import pytest

from indexer.catalog.published.files import point
from indexer.replication import lists
from indexer.replication.blocks import BLOCK_BYTES
from indexer.replication.follow.copy_replica import CopyReplica
from indexer.replication.follow.search_replica import Outdated
from indexer.replication.manifest import CopySet
from indexer.replication.objects import Objects, ObjectsAway
from readapi.live.log_reader import LogReader
from schemas import data_folder
from tests.indexer.replication.origin import Origin, snapshot_bytes


async def newest(origin: Origin) -> str:
    """The key of what was published now."""
    await origin.publish_snapshot()
    assert origin.publisher.copies.key is not None
    return origin.publisher.copies.key


@pytest.fixture
def replica(origin: Origin, objects: Objects, tmp_path: Path) -> CopyReplica:
    return CopyReplica(objects, tmp_path / "node", origin.publisher.node)


async def test_a_snapshot_arrives_as_it_was_made(
    origin: Origin, replica: CopyReplica, tmp_path: Path
) -> None:
    """With its time, which says how old answers are, and under a name that no other indexer uses."""
    await origin.write("one")
    await replica.show(await newest(origin))

    here, there = (folder / data_folder.NEWEST_SNAPSHOT for folder in (tmp_path / "node", origin.folder))
    assert here.read_bytes() == there.read_bytes()
    assert here.stat().st_mtime_ns == there.stat().st_mtime_ns
    assert origin.publisher.node in os.readlink(here)
    with duckdb.connect(tmp_path / "node" / data_folder.NEWEST_SERIES, read_only=True) as series:
        assert series.execute("select count(*) from all_days").fetchall() == [(1,)]


async def test_the_next_snapshot_costs_the_blocks_that_changed(
    origin: Origin, objects: Objects, replica: CopyReplica, tmp_path: Path
) -> None:
    """Also after a restart of the follower."""
    content = bytearray(os.urandom(20 * BLOCK_BYTES + 100))
    copies, snapshots = origin.publisher.copies, origin.folder / data_folder.SNAPSHOTS
    for number in (1, 2, 3):
        content[number * 5 * BLOCK_BYTES] ^= 1
        (snapshots / f"catalog-{number}.duckdb").write_bytes(content)
        point(origin.folder / data_folder.NEWEST_SNAPSHOT, snapshots / f"catalog-{number}.duckdb")
        await copies.step()
        assert copies.key is not None
        if number == 3:
            replica = CopyReplica(objects, tmp_path / "node", origin.publisher.node)
        before = replica.fetched_bytes
        await replica.show(copies.key)
        blocks = (replica.fetched_bytes - before) / BLOCK_BYTES
        assert blocks == pytest.approx(20 if number == 1 else 1, abs=0.1)

    assert snapshot_bytes(tmp_path / "node") == bytes(content)


@pytest.mark.slow
async def test_replaced_snapshots_go_unless_a_process_reads_them(
    origin: Origin, replica: CopyReplica, tmp_path: Path
) -> None:
    """One round after they are replaced."""
    await origin.write("one")
    await replica.show(await newest(origin))
    first = (tmp_path / "node" / data_folder.NEWEST_SNAPSHOT).resolve()
    program = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True); print(1, flush=True); input()"
    )
    reading = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, first, stdin=PIPE, stdout=PIPE, stderr=DEVNULL
    )
    assert reading.stdout is not None
    assert await reading.stdout.readline() == b"1\n"
    for title in ("two", "three"):
        await origin.write(title)
        await replica.show(await newest(origin))

    folder = tmp_path / "node" / data_folder.SNAPSHOTS
    assert len(list(folder.glob("catalog-*"))) == 3
    assert first.exists()
    await reading.communicate(b"\n")
    await origin.write("four")
    await replica.show(await newest(origin))
    assert len(list(folder.glob("catalog-*"))) == 2
    assert not first.exists()


async def test_the_change_log_grows_under_a_reader(
    origin: Origin, replica: CopyReplica, tmp_path: Path
) -> None:
    """Which has its segment open, and reads on."""
    await origin.write("one")
    await replica.show(await newest(origin))
    reader = LogReader(tmp_path / "node" / data_folder.CHANGES, 0)
    assert len(reader.read()) == 1
    await origin.write("two", "three")
    assert reader.read() == []

    await replica.show(await newest(origin))

    assert [change.entry.operation for change in reader.read()] == ["create", "create"]
    reader.close()


async def test_damaged_blocks_and_lists_are_not_shown(
    origin: Origin, objects: Objects, replica: CopyReplica, tmp_path: Path
) -> None:
    """Nor those that are gone."""
    await origin.write("one")
    key = await newest(origin)
    copies = await lists.load(objects, key, CopySet)
    assert copies is not None
    blocks = [one.key for one in await objects.keys("index/") if "/blocks/" in one.key]
    kept = {block: await objects.find(block) for block in blocks}
    for block in blocks:
        await objects.put(block, b"damaged")
    with pytest.raises(ObjectsAway):
        await replica.show(key)
    await objects.delete(blocks)
    with pytest.raises(Outdated):
        await replica.show(key)
    assert not (tmp_path / "node" / data_folder.NEWEST_SNAPSHOT).exists()
    for block, found in kept.items():
        assert found is not None
        await objects.put(block, found.content)

    await replica.show(key)

    assert snapshot_bytes(tmp_path / "node") == snapshot_bytes(origin.folder)
    await objects.put(key, b"damaged")
    assert await lists.load(objects, key, CopySet) is None


async def test_exports_arrive_with_their_manifest(
    origin: Origin, replica: CopyReplica, tmp_path: Path
) -> None:
    """Every file that it names."""
    await origin.write("one")
    assert origin.stores.snapshots.publish() is not None
    origin.stores.snapshots.export()
    await origin.publisher.copies.step()
    assert origin.publisher.copies.key is not None

    await replica.show(origin.publisher.copies.key)

    def files(folder: Path) -> dict[str, bytes]:
        exports = folder / data_folder.EXPORTS
        return {
            str(path.relative_to(exports)): path.read_bytes() for path in exports.rglob("*") if path.is_file()
        }

    assert files(tmp_path / "node") == files(origin.folder)
    assert len(files(origin.folder)) > 5
    assert (tmp_path / "node" / data_folder.NEWEST_PUBLISHED).resolve().is_file()
