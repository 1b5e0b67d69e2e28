"""Publishing: what is committed goes up once, the lease decides what is shown, and garbage goes."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from obstore.store import LocalStore

from indexer.replication import lists
from indexer.replication.manifest import CURRENT, LEASE, CopySet, Manifest, manifest_key, stored_of
from indexer.replication.objects import Objects, ObjectsAway
from indexer.replication.publish.collector import Collector
from indexer.replication.publish.copies import CopiedFile, Stamp
from indexer.replication.publish.publisher import NODE_FILE, SEARCH_INDEX, Publisher
from indexer.replication.publish.term import LeaseRecord
from schemas import data_folder
from tests.indexer import changes
from tests.indexer.replication.origin import Origin, current, open_origin
from tests.indexer.running import until


def bundles(listed: list[str]) -> list[str]:
    """The bundles among keys, the oldest first."""
    return sorted(key for key in listed if key.endswith(".bundle"))


async def keys(objects: Objects) -> list[str]:
    """All keys of the indexers' objects."""
    return [one.key for one in await objects.keys("index/")]


async def is_released(objects: Objects) -> bool:
    """Whether the holder of the lease has released it."""
    found = await objects.find(LEASE)
    assert found is not None
    return LeaseRecord.model_validate_json(found.content).released


class FailingObjects(Objects):
    """A folder that lets so many blocks begin, and then fails. `blocks`: the keys of those that it took.

    One that was under way when another failed is cancelled, and may be sent again.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(LocalStore(folder), folder)
        self.blocks: list[str] = []
        self.begun = 0
        self.left: int | None = None

    async def put(self, key: str, content: bytes | AsyncIterator[bytes]) -> None:
        """Write an object."""
        if "/blocks/" in key:
            if self.left is not None and self.begun >= self.left:
                raise ObjectsAway("full")
            self.begun += 1
        await super().put(key, content)
        if "/blocks/" in key:
            self.blocks.append(key)


async def test_each_commit_is_one_bundle_of_the_files_that_are_new(origin: Origin, objects: Objects) -> None:
    """What was sent is not sent again, and a look at what is unchanged sends nothing."""
    await origin.write("one")
    await origin.publish()
    before = await current(objects)
    await origin.write("two")
    await origin.publish()
    await origin.publish()

    after = await current(objects)
    sent = bundles(await keys(objects))
    assert len(sent) == 2
    fresh = {path for path, file in stored_of(after).items() if file.bundle == sent[1]}
    assert fresh > {"search/catalog/meta.json", "search/words/meta.json"}
    assert not {path for path in fresh & stored_of(before).keys() if not path.endswith("meta.json")}


async def test_deletions_are_those_of_the_state_that_names_them(origin: Origin, objects: Objects) -> None:
    """Of a segment's files of deletions one is published, whatever else lies there."""
    await origin.write("one", "two", "three")
    await origin.write("two", "one")
    await origin.publish()

    published = stored_of(await current(objects))

    deletions = [path for path in published if path.endswith(".del")]
    stems = [path.partition(".")[0] for path in deletions]
    assert deletions
    assert len(stems) == len(set(stems))


async def test_copies_of_a_later_state_wait_for_its_search_index(
    origin: Origin, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here they are sent while the files of the search index are."""
    await origin.write("one")
    await origin.publish()
    await origin.publish_snapshot()
    before, bundle = (await current(objects)).copies, origin.publisher._bundle

    async def slowly() -> None:
        assert origin.stores.snapshots.publish() is not None
        await origin.publisher.copies.step()
        await bundle()

    monkeypatch.setattr(origin.publisher, "_bundle", slowly)
    await origin.write("two")
    await origin.publisher.step()
    assert (await current(objects)).copies == before
    await origin.publisher.step()
    assert (await current(objects)).copies == origin.publisher.copies.key != before


async def test_a_file_that_is_replaced_while_copies_are_sent_is_looked_at_again(
    origin: Origin, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the manifest of exports is, which then names files that were not sent."""
    await origin.write("one")
    await origin.publish()
    await origin.publish_snapshot()
    copies = origin.publisher.copies
    before, look = copies.key, copies._look
    manifest = origin.folder / data_folder.EXPORT_MANIFEST
    manifest.parent.mkdir(exist_ok=True)
    manifest.write_bytes(b'{"exports": []}')

    def replaced_after() -> dict[CopiedFile, Stamp]:
        found = look()
        (manifest.parent / "1.parquet").write_bytes(b"rows")
        newer = manifest.with_suffix(".new")
        newer.write_bytes(b'{"exports": [{"files": [{"path": "1.parquet"}]}]}')
        newer.replace(manifest)
        return found

    monkeypatch.setattr(copies, "_look", replaced_after)
    await copies.step()
    assert copies.key == before
    monkeypatch.setattr(copies, "_look", look)
    await copies.step()
    assert copies.key is not None
    listed = await lists.load(objects, copies.key, CopySet)
    assert listed is not None
    assert f"{data_folder.EXPORTS}/1.parquet" in listed.files


async def test_a_publisher_that_starts_again_sends_what_it_had_not_sent(
    origin: Origin, objects: Objects
) -> None:
    """And takes its lease back in the next epoch, at once."""
    await origin.write("one")
    await origin.publish()
    await origin.write("two")
    again = Publisher(objects, origin.folder, dict, lambda: False, None, 30.0)

    await again.resume()
    await again.step()
    await again.lease.step()
    await again.step()

    manifest, sent = await current(objects), bundles(await keys(objects))
    assert (manifest.node, manifest.epoch) == (origin.publisher.node, 2)
    assert len(sent) == 2
    assert set(manifest.bundles) == set(sent)


async def test_a_holder_that_slept_shows_nothing_after_another_took_over(
    origin: Origin, objects: Objects, tmp_path: Path
) -> None:
    """Whatever it believes of its lease: the version that it would replace is gone."""
    await origin.write("one")
    await origin.publish()
    async with open_origin(tmp_path / "standby", objects) as standby:
        await standby.write("one")
        await standby.publish()
        epoch = origin.publisher.lease.term.known_epoch
        await origin.publisher.lease.release()
        await standby.publish()
        taken = await current(objects)
        assert (taken.node, taken.epoch) == (standby.publisher.node, epoch + 1)

        sleeper = origin.publisher
        slept = Manifest(node=sleeper.node, epoch=epoch, number=999, at=0.0, report={})
        assert not await sleeper._pointer.move(slept)
        assert not await sleeper._pointer.move(slept)
        await origin.write("two")
        await origin.publish()

        assert (await current(objects)).node == standby.publisher.node
        assert sleeper.lease.epoch is None
        assert await objects.find(manifest_key(sleeper.node)) is not None


async def test_a_holder_that_cannot_publish_releases_the_lease(objects: Objects, tmp_path: Path) -> None:
    """After tries have failed for two durations of the lease, and until one succeeds."""
    async with open_origin(tmp_path / "origin", objects, lease_seconds=0.1) as origin:
        publisher = origin.publisher
        await origin.write("one")
        await origin.publish()
        store = next((origin.folder / "search/catalog").glob("*.store"))
        away = store.rename(tmp_path / "away")
        (origin.folder / "search/catalog/meta.json").touch()

        await publisher._tried(SEARCH_INDEX, publisher.step)
        await asyncio.sleep(0.2)
        await publisher.lease.step()
        assert not await is_released(objects)
        for _ in range(2):
            await publisher._tried(SEARCH_INDEX, publisher.step)
            await publisher.lease.step()
            assert await is_released(objects)

        away.rename(store)
        await publisher._tried(SEARCH_INDEX, publisher.step)
        await publisher.lease.step()
        assert not await is_released(objects)


@pytest.mark.slow
async def test_a_holder_that_cannot_move_the_pointer_gives_others_time(
    objects: Objects, tmp_path: Path
) -> None:
    """That its own manifest can be written, once it has released the lease, is no reason to take it back."""
    async with open_origin(tmp_path / "origin", objects, lease_seconds=0.5) as origin:
        publisher = origin.publisher
        await origin.write("one")
        await origin.publish()
        whole = await objects.find(CURRENT)
        assert whole is not None
        await objects.put(CURRENT, b"damaged")

        async def proceed() -> None:
            await publisher.lease.step()
            await publisher._tried(SEARCH_INDEX, publisher.step)
            await asyncio.sleep(0.05)

        while not await is_released(objects):
            await proceed()
        for _ in range(5):
            await proceed()
            assert await is_released(objects)
        assert await objects.find(manifest_key(publisher.node)) is not None

        await objects.put(CURRENT, whole.content)
        async with asyncio.timeout(10):
            while await is_released(objects):
                await proceed()
        await proceed()
        assert publisher.lease.epoch == (await current(objects)).epoch == 2


@pytest.mark.slow
async def test_a_failure_of_long_ago_does_not_count(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the lease the pointer is not moved, so that no success parts two failures."""
    failed = 0

    async def fail(manifest: Manifest) -> bool:
        nonlocal failed
        failed += 1
        raise ObjectsAway(f"no epoch {manifest.epoch}")

    async with open_origin(tmp_path / "origin", objects, lease_seconds=0.5) as origin:
        publisher = origin.publisher
        await origin.write("one")
        await origin.publish()
        monkeypatch.setattr(publisher._pointer, "move", fail)
        async with asyncio.timeout(10):
            for number in (1, 2):
                while failed < number:
                    await publisher.lease.step()
                    await publisher._tried(SEARCH_INDEX, publisher.step)
                await publisher.lease.step()
                assert not await is_released(objects)
                await asyncio.sleep(1.1)  # the lease ends
                await publisher._tried(SEARCH_INDEX, publisher.step)


async def test_copies_go_on_where_they_failed(objects: Objects, tmp_path: Path) -> None:
    """In the same process and after a restart: no block is sent twice."""
    async with open_origin(tmp_path / "origin", objects) as origin:
        await origin.write("one")
        await origin.publish()
        assert origin.stores.snapshots.publish() is not None
        origin.objects = failing = FailingObjects(tmp_path / "objects")
        publisher = origin.publisher = origin.new_publisher()
        await publisher.resume()

        for is_restarted in (False, True):
            failing.left = failing.begun + 2
            with pytest.raises(ObjectsAway):
                await publisher._copy()
            publisher._collect_at = 0.0  # garbage is looked for, but these are needed
            if is_restarted:
                publisher = origin.new_publisher()
                await publisher.resume()
        failing.left = None
        await publisher._copy()

        assert publisher.copies.key is not None
        assert len(failing.blocks) == len(set(failing.blocks)) > 4
        assert publisher.copies.needed <= set(await keys(objects))


@pytest.mark.slow
async def test_two_data_folders_of_one_name_are_noticed(
    origin: Origin, objects: Objects, tmp_path: Path
) -> None:
    """A copied folder publishes nothing over the other's."""
    await origin.write("one")
    await origin.publish()
    async with open_origin(tmp_path / "copy", objects) as copy:
        (copy.folder / NODE_FILE).write_text(origin.publisher.node)
        twin = Publisher(objects, copy.folder, dict, lambda: True, None, 30.0)
        await copy.write("two")
        running = asyncio.create_task(twin.run())
        await until(lambda: twin.lease.epoch == 2)
        origin.publisher.lease.term.doubt()
        await origin.publisher.lease.step()
        await origin.write("three")

        for _ in range(2):
            with pytest.raises(ObjectsAway, match="another indexer publishes as"):
                await origin.publish()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_what_is_not_needed_any_more_is_deleted_after_a_while(origin: Origin, objects: Objects) -> None:
    """What a manifest needs stays, however old it is."""
    now = 0.0
    collector = Collector(objects, origin.publisher.node, kept_seconds=0.0, clock=lambda: now)
    for title in "abcdefghijkl":  # enough for merges, which leave bundles that nothing needs
        await origin.write(title)
        await origin.publish()
    needed = set((await current(objects)).bundles)
    collector.need(needed)
    assert set(bundles(await keys(objects))) - needed

    now = 1.0
    collector.need(needed)
    await asyncio.sleep(0.01)
    await origin.objects.put(f"index/{origin.publisher.node}/9/new.bundle", b"on its way")
    await collector.step()

    assert set(bundles(await keys(objects))) - {f"index/{origin.publisher.node}/9/new.bundle"} == needed


async def test_what_a_manifest_names_stays_while_no_other_can_be_written(
    origin: Origin, objects: Objects
) -> None:
    """However long an upload takes, or fails, while snapshots are published and garbage is collected."""
    now = 0.0
    publisher = origin.publisher
    publisher.collector = Collector(objects, publisher.node, kept_seconds=0.0, clock=lambda: now)
    await origin.write("one")
    await origin.publish()
    await origin.publish_snapshot()
    manifest = await current(objects)
    assert manifest.copies is not None
    copies = await lists.load(objects, manifest.copies, CopySet)
    assert copies is not None
    named = {*manifest.bundles, manifest.copies, *copies.files.values()}

    for title in "bc":
        await origin.write(title)
        assert origin.stores.snapshots.publish() is not None
        now += 1.0
        await asyncio.sleep(0.01)
        publisher._collect_at = 0.0
        await publisher._copy()

    assert publisher.copies.key != manifest.copies
    assert named <= set(await keys(objects))


async def test_a_publisher_that_cannot_look_after_its_start_keeps_what_is_shown(
    origin: Origin, objects: Objects
) -> None:
    """Until its indexes are rebuilt, others may follow the state before."""
    await origin.write("one")
    await origin.publish()
    again, now = origin.new_publisher(), 0.0
    again.collector = Collector(objects, again.node, kept_seconds=0.0, clock=lambda: now)

    await again.resume()
    now = 1.0
    await objects.put(f"index/{again.node}/9/new.bundle", b"on its way")
    await again._copy()

    assert set((await current(objects)).bundles) <= set(await keys(objects))


async def test_what_a_dead_indexer_left_is_deleted_after_days(
    origin: Origin, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the holder of the lease, and not sooner."""
    await objects.put("index/dead/1/x.bundle", b"x")
    await origin.write("one")
    await origin.publish()
    collector = origin.publisher.collector

    await collector.remove_dead()
    assert "index/dead/1/x.bundle" in await keys(objects)
    monkeypatch.setattr("indexer.replication.publish.collector.DEAD_AFTER", timedelta(0))
    await collector.remove_dead()

    assert "index/dead/1/x.bundle" not in await keys(objects)
    assert (await current(objects)).node == changes.settings(origin.folder).data_dir.joinpath(
        NODE_FILE
    ).read_text()
