"""Following several indexers: what is shown is one's, and a change-over downloads nothing."""

import asyncio
import os
from pathlib import Path

import pytest

from indexer.faults import StoreError
from indexer.replication.follow.follower import Follower
from indexer.replication.manifest import Manifest, manifest_key
from indexer.replication.objects import Objects, ObjectsAway
from readapi.index.lookups import Index
from readapi.live.log_reader import LogReader
from schemas import data_folder
from tests.indexer.replication.origin import Origin, current, documents, follow, open_origin, snapshot_bytes


@pytest.mark.slow
async def test_a_folder_in_each_kind_of_store_is_followed(each_objects: Objects, tmp_path: Path) -> None:
    """Search indexes and snapshots; the report is the indexer's, as old as it is."""
    async with open_origin(tmp_path / "origin", each_objects) as origin:
        follower = Follower(each_objects, tmp_path / "node")
        assert follower.report()["lag_seconds"] is None
        assert follower.report()["source"]["error"] == "No indexer has published anything yet."
        for title in "ab":
            await origin.write(title)
            await origin.publish()
            await origin.publish_snapshot()
            await follow(follower)
            assert documents(tmp_path / "node") == documents(origin.folder)

        assert (tmp_path / "node" / data_folder.NEWEST_SNAPSHOT).exists()
        assert 0.25 <= follower.report()["lag_seconds"] < 60
        assert follower.report()["source"]["connected"]


async def test_blocks_that_a_loss_of_power_tore_are_sent_anew(
    origin: Origin, objects: Objects, tmp_path: Path
) -> None:
    """Also those of what is published: its lists may be whole while its blocks are not."""
    await origin.write("one")
    await origin.publish()
    await origin.publish_snapshot()
    empty, torn, *_ = sorted((tmp_path / "objects").rglob("blocks/*"))
    os.truncate(empty, 0)
    os.truncate(torn, torn.stat().st_size // 2)
    await origin.publisher.lease.release()

    origin.publisher = origin.new_publisher()
    await origin.publisher.resume()
    await origin.publisher.copies.step()
    await origin.publish()
    await follow(Follower(objects, tmp_path / "node"))

    assert snapshot_bytes(tmp_path / "node") == snapshot_bytes(origin.folder)


async def test_a_change_over_downloads_nothing(origin: Origin, objects: Objects, tmp_path: Path) -> None:
    """The other indexer's files are here already; a worker sees another index and log, and reads on."""
    follower, node = Follower(objects, tmp_path / "node"), tmp_path / "node"
    async with open_origin(tmp_path / "standby", objects) as standby:
        for each in (origin, standby):
            await each.write(*(f"{number:03}" for number in range(50)))
            await each.publish()
            await each.publish_snapshot()
        await follow(follower)
        worker = Index(node, "http://fmsvc.test")
        worker.refresh()
        shown = worker.catalog.folder_id
        live = LogReader.at_end(node / data_folder.CHANGES)
        replica = follower.nodes[standby.publisher.node]
        before = replica.search.fetched_bytes, replica.copies.fetched_bytes
        assert all(before)

        await origin.publisher.lease.release()
        await standby.publish()
        await follow(follower)

        assert (await current(objects)).node == standby.publisher.node
        assert (replica.search.fetched_bytes, replica.copies.fetched_bytes) == before
        worker.refresh()
        assert worker.catalog.folder_id != shown
        assert documents(node) == documents(standby.folder)
        await standby.write("after")
        await standby.publish()
        await standby.publish_snapshot()
        await follow(follower)
        assert documents(node) == documents(standby.folder)
        assert b"after" in live.read()[-1].entry.record

        await standby.publisher.lease.release()
        await origin.publish()
        await origin.write("back")
        await origin.publish()
        await origin.publish_snapshot()
        await follow(follower)
        assert documents(node) == documents(origin.folder)
        assert b"back" in live.read()[-1].entry.record  # whose segment is older than that of the other one
        live.close()


async def test_a_holder_that_starts_again_after_a_take_over_is_followed_from_there(
    origin: Origin, objects: Objects, tmp_path: Path
) -> None:
    """It stands by, and its number, the highest of which was overwritten in `current.json`, goes on."""
    follower, node = Follower(objects, tmp_path / "node"), tmp_path / "node"
    async with open_origin(tmp_path / "standby", objects) as standby:
        for title in "abc":  # of which its own manifest knows the first alone
            await origin.write(title)
            await origin.publish()
        await follow(follower)
        highest = (await current(objects)).number
        await origin.publisher.lease.release()
        await standby.write("b")
        await standby.publish()
        await origin.write("d")

        origin.publisher = origin.new_publisher()
        await origin.publisher.resume()
        await origin.publish()
        await follow(follower)
        assert documents(node) == documents(standby.folder)
        await standby.publisher.lease.release()
        await origin.publish()
        await follow(follower)

        assert documents(node) == documents(origin.folder)
        shown = await current(objects)
        assert (shown.node, shown.number > highest) == (origin.publisher.node, True)


async def test_an_indexer_whose_snapshot_is_not_here_yet_is_not_shown(
    origin: Origin, objects: Objects, tmp_path: Path
) -> None:
    """So that statistics do not vanish for a while."""
    follower = Follower(objects, tmp_path / "node")
    await origin.write("one")
    await origin.publish()
    await origin.publish_snapshot()
    await follow(follower)
    async with open_origin(tmp_path / "standby", objects) as standby:
        await standby.write("one")
        await standby.publish()
        await standby.publish_snapshot()
        await origin.publisher.lease.release()
        await standby.publish()

        await follower.step()
        assert follower.shown is not None
        assert follower.shown.node == origin.publisher.node
        await follow(follower)

        assert follower.shown.node == standby.publisher.node


async def test_following_goes_on_by_itself_until_it_is_stopped(
    origin: Origin, objects: Objects, tmp_path: Path
) -> None:
    """With the publisher running too: a write is shown a moment after its commit."""
    follower = Follower(objects, tmp_path / "node")
    running = [asyncio.create_task(work) for work in (origin.publisher.run(), follower.run())]
    worker = Index(tmp_path / "node", "http://fmsvc.test")
    try:
        async with asyncio.timeout(60):
            for title in "ab":
                op = await origin.write(title)
                while worker.op < op:
                    await asyncio.sleep(0.01)
                    worker.refresh()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    assert documents(tmp_path / "node") == documents(origin.folder)


async def test_the_data_folder_of_an_indexer_is_left_alone(origin: Origin, objects: Objects) -> None:
    """Nothing of it is replaced by another's."""
    with pytest.raises(StoreError, match="has an index of its own"):
        Follower(objects, origin.folder)


async def test_an_indexer_may_be_followed_twice_at_once(
    origin: Origin, objects: Objects, tmp_path: Path
) -> None:
    """As one that stands by, whose manifest was read just before it took over, and as the one shown."""
    follower = Follower(objects, tmp_path / "node")
    await origin.write("one")
    await origin.publish()

    await asyncio.gather(follower.step_aside(), follower.step())

    assert follower.shown is not None
    assert documents(tmp_path / "node") == documents(origin.folder)


@pytest.mark.parametrize("damaged", ["the manifest", "the bundle"])
async def test_an_indexer_that_cannot_be_followed_holds_up_no_other(
    origin: Origin, objects: Objects, tmp_path: Path, damaged: str
) -> None:
    """The one listed before it is named among the warnings, until it can be followed."""
    follower = Follower(objects, tmp_path / "node")
    await origin.publish()
    async with open_origin(tmp_path / "one", objects) as one, open_origin(tmp_path / "two", objects) as two:
        for each in (one, two):
            await each.write("here")
            await each.publish()
        first, second = sorted((one, two), key=lambda each: each.publisher.node)
        key = manifest_key(first.publisher.node)
        found = await objects.find(key)
        assert found is not None
        whole = Manifest.model_validate_json(found.content)
        files = {path: piece._replace(check=piece.check ^ 1) for path, piece in whole.files.items()}
        broken = whole.model_copy(update={"files": files}).encoded()
        await objects.put(key, b"{}" if damaged == "the manifest" else broken)

        await follow(follower)

        assert documents(tmp_path / "node/replicas" / second.publisher.node) == documents(second.folder)
        [warning] = follower.report()["warnings"]
        assert warning.startswith(f"The indexer {first.publisher.node} cannot be followed: ")
        await objects.put(key, found.content)
        await follow(follower)
        assert documents(tmp_path / "node/replicas" / first.publisher.node) == documents(first.folder)
        assert follower.report()["warnings"] == []


async def test_an_indexer_that_was_gone_and_returns_is_followed_from_the_beginning(
    origin: Origin, objects: Objects, tmp_path: Path
) -> None:
    """Its objects were deleted, and nothing is remembered as being there."""
    follower, node = Follower(objects, tmp_path / "node"), tmp_path / "node"
    async with open_origin(tmp_path / "standby", objects) as standby:
        for each in (origin, standby):
            await each.write("one")
            await each.publish()
            await each.publish_snapshot()
        await follow(follower)
        name = standby.publisher.node
        await objects.delete([one.key for one in await objects.keys(f"index/{name}/")])

        for _ in range(2):
            assert len(list((node / "replicas").iterdir())) == 2  # one look may be wrong
            follower._gone_at = 0
            await follower.step_aside()
        assert [path.name for path in (node / "replicas").iterdir()] == [origin.publisher.node]
        assert not (node / "replicas.gone").exists()
        standby.publisher = standby.new_publisher()
        await standby.publish()
        await standby.publish_snapshot()
        await follow(follower)
        await origin.publisher.lease.release()
        await standby.publish()
        await follow(follower)

        assert follower.shown is not None
        assert follower.shown.node == name
        assert documents(node) == documents(standby.folder)
        assert (node / data_folder.NEWEST_SNAPSHOT).exists()


async def test_a_store_whose_mount_is_missing_removes_nothing(
    origin: Origin, objects: Objects, tmp_path: Path
) -> None:
    """It lists nothing, however often it is asked; then it is there again."""
    follower, node = Follower(objects, tmp_path / "node"), tmp_path / "node"
    async with open_origin(tmp_path / "standby", objects) as standby:
        for each in (origin, standby):
            await each.write("one")
            await each.publish()
        await follow(follower)
        away = (tmp_path / "objects").rename(tmp_path / "away")
        (tmp_path / "objects").mkdir()

        for _ in range(3):
            follower._gone_at = 0
            with pytest.raises(ObjectsAway, match=r"the store has no current\.json"):
                await follower.step_aside()
        (tmp_path / "objects").rmdir()
        away.rename(tmp_path / "objects")
        await follow(follower)

        assert documents(node / "replicas" / standby.publisher.node) == documents(standby.folder)
