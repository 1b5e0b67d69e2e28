"""THE ORDER of following: the manifest that is shown, then those of other indexers, each into its folder."""

import asyncio
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import structlog
from prometheus_client import Counter, Gauge, generate_latest
from pydantic import ValidationError

from indexer.replication.follow import freshness
from indexer.replication.follow.freshness import Shown
from indexer.replication.follow.layout import Layout
from indexer.replication.follow.node import Node
from indexer.replication.follow.search_replica import Outdated
from indexer.replication.manifest import CURRENT, NODES, Manifest, manifest_key, node_prefix
from indexer.replication.objects import Found, Objects, ObjectsAway

LOOK_SECONDS: Final = 0.1
STANDBY_SECONDS: Final = 1.0
GONE_SECONDS: Final = 3600.0  # between two looks for indexers that are gone
RETRY_SECONDS: Final = 1.0

STATES = Counter("fmsvc_followed_states", "Manifests of the indexer shown here that were followed.")
FAILURES = Counter("fmsvc_follow_failures", "Tries to follow an indexer that failed.", ["what"])
LAG = Gauge("fmsvc_lag_seconds", "Seconds that the index is behind the network.")
EPOCH = Gauge("fmsvc_followed_epoch", "Epoch of the lease in which what is shown was published.")

log = structlog.get_logger()


class Follower:
    """Follows all indexers of an object store into one data folder."""

    def __init__(self, objects: Objects, data_dir: Path) -> None:
        """Raises StoreError when the folder is another's."""
        self.nodes: dict[str, Node] = {}
        self._objects = objects
        self._layout = Layout(data_dir)
        self._layout.prepare()
        self._shown: Shown | None = None
        self._tag: str | None = None
        self._tags: dict[str, str] = {}  # of the manifests of other indexers
        self._failing: dict[str, str] = {}
        self._failing_aside: dict[str, str] = {}  # by the name of an indexer that is not shown
        self._gone_at = time.monotonic() + GONE_SECONDS
        # Indexers of which the store had no objects at the last look.
        self._missed: frozenset[str] = frozenset()
        self._group: asyncio.TaskGroup | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}  # of `nodes`, by name

    @property
    def shown(self) -> Manifest | None:
        """The manifest that is shown."""
        return self._shown.manifest if self._shown else None

    def report(self) -> dict[str, Any]:
        """The answer of GET /health."""
        failing = [f"{what} cannot be followed: {reason}" for what, reason in self._failing.items()]
        failing += [
            f"The indexer {name} cannot be followed: {reason}" for name, reason in self._failing_aside.items()
        ]
        failing += [
            f"Snapshots cannot be followed: {node.failure}" for node in self.nodes.values() if node.failure
        ]
        if self._shown is None:
            reason = failing[0] if failing else "No indexer has published anything yet."
            source = {"name": "replica", "connected": False, "error": reason, "retry_in": None}
            return {"source": source, "lag_seconds": None, "warnings": failing}
        return freshness.report(self._shown, time.monotonic(), time.time(), failing)

    async def metrics(self) -> bytes:
        """The answer of GET /metrics."""
        report = self.report()
        if report["lag_seconds"] is not None:
            LAG.set(report["lag_seconds"])
        return generate_latest()

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            group.create_task(self._keep("The index", self.step, LOOK_SECONDS))
            group.create_task(self._keep("Another indexer", self.step_aside, STANDBY_SECONDS))

    async def step(self) -> None:
        """Follow `current.json`, if it has changed. Raises ObjectsAway, Outdated, or OSError."""
        found = await self._objects.find(CURRENT, self._tag)
        if found is None:
            return
        manifest, arrived = _parse(found), time.monotonic()
        if self.shown is None or manifest.order > self.shown.order:
            node = self._node(manifest.node)
            await node.follow(manifest)
            if self._layout.shown not in (None, node.name) and not node.is_complete:
                return  # what is shown stays, until the snapshots are here too
            self._show(Shown(manifest, arrived))
        self._tag = found.tag

    async def step_aside(self) -> None:
        """Follow the indexers that are not shown; one that fails stops no other. Raises ObjectsAway."""
        names = await self._objects.folders(NODES)
        failing: dict[str, str] = {}
        for name in names:
            try:
                await self._follow_aside(name)
            except (ObjectsAway, OSError) as error:
                FAILURES.labels("Another indexer").inc()
                if self._failing_aside.get(name) != str(error):
                    log.warning("not followed", what="Another indexer", node=name, reason=str(error))
                failing[name] = str(error)
        self._failing_aside = failing
        if time.monotonic() >= self._gone_at:
            self._gone_at = time.monotonic() + GONE_SECONDS
            await self._look_for_gone(names)

    async def _look_for_gone(self, names: Collection[str]) -> None:
        """Forget indexers whose objects two looks in a row did not find. Raises ObjectsAway.

        A store without `current.json` is not the one that was followed: its mount may be missing.
        """
        if await self._objects.find(CURRENT) is None:
            raise ObjectsAway(f"the store has no {CURRENT}; no indexer's files are removed here")
        left = [name for name in names if await self._objects.has_any(f"{node_prefix(name)}/")]
        missed = frozenset(self._layout.all_but(left))
        self._forget(missed & self._missed)
        self._missed = missed
        await asyncio.to_thread(self._layout.remove_aside)

    def _forget(self, names: Collection[str]) -> None:
        """Forget indexers that are gone, with their files: a returning one is followed from the start."""
        for name in names:
            node = self.nodes.get(name)
            if node is not None and node.is_following:
                continue
            self.nodes.pop(name, None)
            self._tags.pop(name, None)
            if task := self._tasks.pop(name, None):
                task.cancel()
            self._layout.put_aside(name)

    async def _follow_aside(self, name: str) -> None:
        """Follow an indexer, if its manifest changed and it is not shown. Raises ObjectsAway, or OSError."""
        found = await self._objects.find(manifest_key(name), self._tags.get(name))
        if found is None or (self.shown is not None and self.shown.node == name):
            return
        manifest = _parse(found)
        try:
            if manifest.node == name and self._node(name).is_behind(manifest):
                await self._node(name).follow(manifest)
            self._tags[name] = found.tag
        except Outdated:
            log.debug("manifest outdated", node=name)  # the indexer was the holder since, or is gone

    def _show(self, shown: Shown) -> None:
        if self._layout.shown != shown.manifest.node:
            log.info("shown now", node=shown.manifest.node, epoch=shown.manifest.epoch)
        self._layout.show(shown.manifest.node)
        self._shown = shown
        STATES.inc()
        EPOCH.set(shown.manifest.epoch)

    def _node(self, name: str) -> Node:
        if name not in self.nodes:
            self.nodes[name] = Node(self._objects, self._layout.folder(name), name)
            if self._group is not None:
                self._tasks[name] = self._group.create_task(self.nodes[name].run())
        return self.nodes[name]

    async def _keep(self, what: str, step: Any, seconds: float) -> None:
        while True:
            try:
                await step()
            except (ObjectsAway, Outdated, OSError) as error:
                FAILURES.labels(what).inc()
                if self._failing.get(what) != str(error):
                    log.warning("not followed", what=what, reason=str(error))
                self._failing[what] = str(error)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self._failing.pop(what, None)
                await asyncio.sleep(seconds)


def _parse(found: Found) -> Manifest:
    try:
        return Manifest.model_validate_json(found.content)
    except ValidationError as error:
        problem = error.errors()[0]["msg"]
        raise ObjectsAway(f"the manifest is not of this version: {problem}") from error
