"""The files of one indexer on this machine: its search indexes first, the rest beside them."""

import asyncio
from pathlib import Path

import structlog

from indexer.replication.follow.copy_replica import CopyReplica
from indexer.replication.follow.search_replica import Outdated, SearchReplica
from indexer.replication.manifest import Manifest
from indexer.replication.objects import Objects, ObjectsAway

RETRY_SECONDS = 1.0

log = structlog.get_logger()


class Node:
    """One indexer's files. Call `follow` with each new manifest; fetching snapshots never delays it."""

    def __init__(self, objects: Objects, folder: Path, name: str) -> None:
        self.name = name
        self.search = SearchReplica(objects, folder)
        self.copies = CopyReplica(objects, folder, name)
        self.failure: str | None = None  # of the copies
        self._shown: Manifest | None = None
        self.newest_copies: str | None = None  # the key of the newest CopySet
        self._changed = asyncio.Event()
        # The same indexer may be followed as the shown one and as a standby at the same time.
        self._following = asyncio.Lock()

    @property
    def is_following(self) -> bool:
        """Whether `follow` is at work, which writes into the folder."""
        return self._following.locked()

    @property
    def is_complete(self) -> bool:
        """Whether the indexes are here, and the snapshots if any are published."""
        return self._shown is not None and (self.newest_copies is None or self.copies.key is not None)

    def is_behind(self, manifest: Manifest) -> bool:
        """Whether a manifest is newer than what is here."""
        return self._shown is None or self._shown.order < manifest.order

    async def follow(self, manifest: Manifest) -> None:
        """Bring the search indexes to a newer state. Raises ObjectsAway, Outdated, or OSError."""
        async with self._following:
            if not self.is_behind(manifest):
                return
            known = self._shown
            if known is None or (manifest.files, manifest.bundles) != (known.files, known.bundles):
                await self.search.show(manifest)
            self._shown, self.newest_copies = manifest, manifest.copies
            self._changed.set()

    async def run(self) -> None:
        """Bring snapshots and the rest to the newest state, again and again."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self.newest_copies is None or self.newest_copies == self.copies.key:
                continue
            try:
                await self.copies.show(self.newest_copies)
            except Outdated:
                log.debug("copies outdated while fetched", node=self.name)
            except (ObjectsAway, OSError) as error:
                if self.failure != str(error):
                    log.warning("snapshots not followed", node=self.name, reason=str(error))
                self.failure = str(error)
            else:
                self.failure = None
                continue
            await asyncio.sleep(RETRY_SECONDS)
            self._changed.set()
