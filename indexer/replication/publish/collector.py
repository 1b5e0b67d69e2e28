"""Deletes objects that nothing published needs any more, some time after it ceased to need them."""

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Final

import structlog

from indexer.replication.manifest import NODES, manifest_key, node_prefix
from indexer.replication.objects import Objects

KEPT_SECONDS: Final = 600.0  # for followers that still fetch what an older manifest names
DEAD_AFTER: Final = timedelta(days=7)  # after an indexer wrote nothing for so long, all of it goes

log = structlog.get_logger()


class Collector:
    """The garbage of one node. `step` must not run while blocks are sent: they may be needed again."""

    def __init__(
        self,
        objects: Objects,
        node: str,
        kept_seconds: float = KEPT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._objects = objects
        self._node = node
        self._kept_seconds = kept_seconds
        self._clock = clock
        self._began = clock()
        self._needed_at: dict[str, float] = {}

    def need(self, keys: Iterable[str]) -> None:
        """Note that these objects are needed now."""
        self._needed_at.update(dict.fromkeys(keys, self._clock()))

    async def step(self) -> int:
        """Delete what was not needed for long. Returns how many objects. Raises ObjectsAway."""
        listed = await self._objects.keys(f"{node_prefix(self._node)}/")
        if not listed:
            return 0
        newest = max(one.modified for one in listed)  # by the store's clock, which may differ from ours
        before = self._clock() - self._kept_seconds
        unneeded = [
            one.key
            for one in listed
            if self._needed_at.get(one.key, self._began) < before
            and one.modified <= newest - timedelta(seconds=self._kept_seconds)
            and one.key != manifest_key(self._node)
        ]
        await self._objects.delete(unneeded)
        there = {one.key for one in listed}
        self._needed_at = {key: at for key, at in self._needed_at.items() if key in there or at >= before}
        return len(unneeded)

    async def remove_dead(self) -> None:
        """Delete the objects of indexers that have written nothing for seven days. Raises ObjectsAway."""
        ours = await self._objects.keys(f"{node_prefix(self._node)}/")
        if not ours:
            return
        newest = max(one.modified for one in ours)
        for node in await self._objects.folders(NODES):
            listed = await self._objects.keys(f"{node_prefix(node)}/")
            if node != self._node and all(one.modified < newest - DEAD_AFTER for one in listed):
                log.info("removing what an indexer left", node=node, objects=len(listed))
                await self._objects.delete([one.key for one in listed])
