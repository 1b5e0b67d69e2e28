"""An indexer's data folder that publishes, step by step, and a folder that follows it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from indexer.replication.follow.follower import Follower
from indexer.replication.manifest import CURRENT, Manifest
from indexer.replication.objects import Objects
from indexer.replication.publish.publisher import Publisher
from indexer.stores import Stores
from schemas import data_folder
from tests.indexer import changes, empty_catalogues
from tests.indexer.search.test_index import contents

LEASE_SECONDS = 30.0
REPORT: dict[str, Any] = {
    "source": {"name": "relay", "connected": True},
    "lag_seconds": 0.25,
    "clock_offset_seconds": 0.0,
    "warnings": [],
}


class Origin:
    """Stores, and their publisher. Nothing runs by itself."""

    def __init__(self, folder: Path, objects: Objects, lease_seconds: float = LEASE_SECONDS) -> None:
        self._second = 0
        self.folder = folder
        self.objects = objects
        empty_catalogues.begin(folder)
        self.stores = Stores.open(changes.settings(folder))
        self._lease_seconds = lease_seconds
        self.publisher = self.new_publisher()

    def new_publisher(self) -> Publisher:
        """A publisher of the folder, as at the start of a process."""
        return Publisher(
            self.objects, self.folder, lambda: dict(REPORT), lambda: True, None, self._lease_seconds
        )

    async def write(self, *titles: str, person: str = "ada") -> int:
        """Write a track of each title anew. Returns the outbox entry up to which they are indexed."""
        self._second += 1
        numbers = [int.from_bytes(title.encode()[-3:], "big") for title in titles]
        tracks = [
            changes.put(person, "track", number, at=self._second, title=title)
            for number, title in zip(numbers, titles, strict=True)
        ]
        changes.write(self.stores.writer, *tracks)
        return await self.stores.follow()

    async def publish(self) -> None:
        """Publish what is committed, as the holder of the lease if it can be had."""
        await self.publisher.step()
        await self.publisher.lease.step()
        await self.publisher.step()

    async def publish_snapshot(self) -> None:
        """Make a snapshot with its series, and publish them."""
        assert self.stores.snapshots.publish() is not None
        await self.publisher.copies.step()
        await self.publisher.step()


@asynccontextmanager
async def open_origin(
    folder: Path, objects: Objects, lease_seconds: float = LEASE_SECONDS
) -> AsyncIterator[Origin]:
    """An indexer's folder; its stores are closed when the block ends."""
    origin = Origin(folder, objects, lease_seconds)
    try:
        yield origin
    finally:
        await origin.stores.close()


async def current(objects: Objects) -> Manifest:
    """The manifest that followers show."""
    found = await objects.find(CURRENT)
    assert found is not None
    return Manifest.model_validate_json(found.content)


async def follow(follower: Follower) -> None:
    """Follow everything once: what is shown, what is beside it, and the snapshots of both."""
    await follower.step()
    await follower.step_aside()
    for node in follower.nodes.values():
        if node.newest_copies is not None and node.newest_copies != node.copies.key:
            await node.copies.show(node.newest_copies)
    await follower.step()


def documents(data_dir: Path) -> dict[str, Any]:
    """Everything that a worker finds in the search indexes of a data folder."""
    return contents(data_dir / data_folder.SEARCH)


def snapshot_bytes(data_dir: Path) -> bytes:
    """The newest snapshot."""
    return (data_dir / data_folder.NEWEST_SNAPSHOT).read_bytes()
