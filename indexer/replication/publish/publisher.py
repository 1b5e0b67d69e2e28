"""THE ORDER of publishing: report, committed files, bundle, manifest; snapshots and the lease beside it."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, Self

import structlog
from prometheus_client import Counter, Gauge
from pydantic import ValidationError

from indexer.replication.manifest import (
    CURRENT,
    Manifest,
    Stored,
    manifest_key,
    node_prefix,
    pieces_of,
    stored_of,
)
from indexer.replication.objects import Changed, Objects, ObjectsAway
from indexer.replication.publish import search_files
from indexer.replication.publish.bundle import put_bundle
from indexer.replication.publish.collector import Collector
from indexer.replication.publish.copies import BYTES, Copies
from indexer.replication.publish.lease import Lease
from indexer.replication.publish.pointer import Pointer

LOOK_SECONDS: Final = 0.05
COPY_SECONDS: Final = 1.0  # between two looks at snapshots, exports and the change log
HEARTBEAT_SECONDS: Final = 1.0  # between two manifests that differ in the report alone
COLLECT_SECONDS: Final = 300.0
DEAD_SECONDS: Final = 3600.0
RETRY_SECONDS: Final = 1.0
STUCK_LEASES: Final = 2  # durations of the lease for which publishing has failed before another may take over
SEARCH_INDEX: Final = "the search index"
NODE_FILE: Final = "node"  # in the data folder: under which name its indexer publishes

FAILURES = Counter("fmsvc_publish_failures", "Tries to publish for other machines that failed.", ["what"])
STATES = Counter("fmsvc_published_states", "States of the search indexes published for other machines.")
HELD = Gauge("fmsvc_lease_epoch", "Epoch of the lease while this indexer holds it, else 0.")

Report = Callable[[], dict[str, Any]]

log = structlog.get_logger()


class Publisher:
    """Publishes the data folder of one indexer. It reads files alone, and never holds the indexer up."""

    def __init__(
        self,
        objects: Objects,
        data_dir: Path,
        report: Report,
        is_fresh: Callable[[], bool],
        nudges: str | None,
        lease_seconds: float,
    ) -> None:
        """`report`: the indexer's health. `is_fresh`: whether it is caught up with the network."""
        self.node = node_name(data_dir)
        self.lease = Lease(objects, self.node, self._is_whole, is_fresh, lease_seconds)
        self.copies = Copies(objects, data_dir, self.node)
        self.collector = Collector(objects, self.node)
        self._objects = objects
        self._data_dir = data_dir
        self._report = report
        self._nudges = nudges
        self._pointer = Pointer(objects)
        self._stored: dict[str, Stored] = {}
        self._copied: tuple[str | None, frozenset[str]] = None, frozenset()  # of the state being published
        self._coming: str | None = None  # the newest bundle, of which `_stored` may know nothing yet
        self._named: frozenset[str] = frozenset()  # the objects of the manifest that was written last
        self._stamp: search_files.Stamp | None = None
        self._number = 0
        self._tag: str | None = None  # of our own manifest
        self._has_twin = False  # whether another indexer publishes under our name
        self._is_shown = False  # whether our own manifest, or the pointer, has a whole state
        self._last: tuple[object, ...] = ()
        self._last_at = 0.0
        self._failing: dict[str, str] = {}
        self._stuck_seconds = STUCK_LEASES * lease_seconds
        self._failed: dict[str, tuple[float, float]] = {}  # first and last failure since the last success
        self._unmoved: tuple[float, float] | None = None  # the same, of moving the pointer
        self._collect_at = time.monotonic()
        self._dead_at = self._collect_at + DEAD_SECONDS

    @property
    def failures(self) -> list[str]:
        """Why other machines do not get new states, one sentence each."""
        return [f"{what} cannot be published: {reason}" for what, reason in self._failing.items()]

    async def run(self) -> None:
        """Publish until cancelled; then let another indexer take the lease."""
        await self._tried("the state before", self.resume, until_done=True)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.lease.run())
                group.create_task(self._keep(SEARCH_INDEX, self.step, LOOK_SECONDS))
                group.create_task(self._keep("the snapshots", self._copy, COPY_SECONDS))
        finally:
            async with asyncio.timeout(RETRY_SECONDS):
                await self._tried("the end of the lease", self.lease.release)

    async def resume(self) -> Self:
        """Go on from what this node published last. Raises ObjectsAway."""
        own, current = await self._objects.find(manifest_key(self.node)), await self._objects.find(CURRENT)
        self._tag = own.tag if own else None
        self._number = time.time_ns() // 1_000_000
        known = [_parse(found.content) for found in (own, current) if found is not None]
        ours = [one for one in known if one is not None and one.node == self.node]
        if ours:
            newest = max(ours, key=lambda one: one.number)
            self._number = max(self._number, newest.number)
            self._stored = {
                path: file
                for path, file in stored_of(newest).items()
                if _has_size(self._data_dir / path, file.size)
            }
            await self.copies.resume(newest.copies)
            self._named = self.copies.needed | set(newest.bundles)
        return self

    async def step(self) -> None:
        """Publish what was committed since, and the report. Raises ObjectsAway, or OSError."""
        self._require_no_twin()
        report, at = self._report(), time.time()
        self._copied = self.copies.key, self.copies.needed  # those of later are of a later state
        if (stamp := search_files.look(self._data_dir)) != self._stamp and stamp is not None:
            await self._bundle()
            self._stamp = stamp
            STATES.inc()
        if self._stamp is None:
            return
        epoch = self.lease.epoch
        HELD.set(epoch or 0)
        state = self._stamp, self._copied[0], epoch
        if state != self._last or time.monotonic() >= self._last_at + HEARTBEAT_SECONDS:
            await self._show(report, at, epoch)
            self._last, self._last_at = state, time.monotonic()

    async def _bundle(self) -> None:
        """Send the files that were not sent, as one object."""
        with search_files.committed(self._data_dir, self._stored) as (files, opened):
            fresh: dict[str, Stored] = {}
            if opened:
                name = f"{time.time_ns():020}-{secrets.token_hex(4)}.bundle"
                key = f"{node_prefix(self.node)}/{self.lease.term.known_epoch}/{name}"
                self._coming = key
                fresh = await put_bundle(self._objects, key, opened)
                BYTES.labels("bundles").inc(sum(file.size for file in opened))
        known = self._stored | fresh
        self._stored = {file.path: known[file.path] for file in files}

    async def _show(self, report: dict[str, Any], at: float, epoch: int | None) -> None:
        """Write the manifest: as `current.json` by the holder of the lease, by others as their own."""
        self._number += 1
        bundles, files = pieces_of(self._stored)
        copies, copied = self._copied
        manifest = Manifest(
            node=self.node,
            epoch=epoch or self.lease.term.known_epoch,
            number=self._number,
            at=at,
            report=report,
            nudges=self._nudges,
            bundles=bundles,
            files=files,
            copies=copies,
        )
        self.collector.need(bundles)
        content = manifest.encoded()
        if epoch is None:
            await self._put_own(content)
        elif not await self._move(manifest):
            self.lease.term.doubt()
            return
        self._is_shown, self._named = True, copied | set(bundles)
        BYTES.labels("manifests").inc(len(content))

    async def _move(self, manifest: Manifest) -> bool:
        """Move the pointer, and note since when that fails try by try. See Pointer.move."""
        began = time.monotonic()
        try:
            is_moved = await self._pointer.move(manifest)
        except (ObjectsAway, OSError):
            now = time.monotonic()
            first, last = self._unmoved or (now, now)
            # Long after the last one it is a failure of its own: without the lease nothing was tried.
            self._unmoved = first if began < last + self._stuck_seconds else now, now
            raise
        self._unmoved = None
        return is_moved

    async def _put_own(self, content: bytes) -> None:
        """Replace our own manifest, which no other indexer may have written."""
        key = manifest_key(self.node)
        try:
            self._tag = await self._objects.put_if(key, content, self._tag)
        except Changed:
            found = await self._objects.find(key)
            if found is not None and found.content == content:
                self._tag = found.tag  # it was written although the answer was lost
                return
            self._has_twin = True
            self._require_no_twin()

    def _is_whole(self) -> bool:
        """Whether there is an index to show, and showing it has not failed for long.

        Only failures count: an upload may take longer than the lease. Without the lease our own manifest can
        be written, which says nothing of the pointer: others get time to take the lease and move it.
        """
        first, last = self._failed.get(SEARCH_INDEX, (0.0, 0.0))
        if last - first >= self._stuck_seconds:
            return False
        first, last = self._unmoved or (0.0, 0.0)
        is_resting = last - first >= self._stuck_seconds and time.monotonic() < last + self._stuck_seconds
        return self._is_shown and not self._has_twin and not is_resting

    def _require_no_twin(self) -> None:
        """Stop if another indexer publishes under this name: each would delete the other's objects."""
        if self._has_twin:
            raise ObjectsAway(
                f"another indexer publishes as {self.node}; remove {NODE_FILE} from one of the data folders, "
                "and start it again"
            )

    async def _copy(self) -> None:
        self._require_no_twin()
        before = self.copies.needed
        await self.copies.step()
        # Here, where no block is on its way: a block may be needed again.
        now = time.monotonic()
        if self.copies.needed is not before or now >= self._collect_at:
            self.collector.need(before | self.copies.needed | self.copies.sent)
        if now >= self._collect_at:
            self._collect_at = now + COLLECT_SECONDS
            self.collector.need(self._referenced())
            await self.collector.step()
        if self.lease.epoch is not None and now >= self._dead_at:
            self._dead_at = now + DEAD_SECONDS
            await self.collector.remove_dead()

    def _referenced(self) -> frozenset[str]:
        """What a manifest names, or is to name: for as long as the next one cannot be written, too."""
        bundles = {file.bundle for file in self._stored.values()}
        return self._named | bundles | self._copied[1] | ({self._coming} if self._coming else set())

    async def _keep(self, what: str, step: Callable[[], Awaitable[object]], seconds: float) -> None:
        while True:
            await self._tried(what, step)
            await asyncio.sleep(RETRY_SECONDS if what in self._failing else seconds)

    async def _tried(
        self, what: str, step: Callable[[], Awaitable[object]], *, until_done: bool = False
    ) -> None:
        """Run a step; count and log why it failed. `until_done`: again and again."""
        while True:
            try:
                await step()
            except (ObjectsAway, OSError) as error:
                FAILURES.labels(what).inc()
                now = time.monotonic()
                self._failed[what] = self._failed.get(what, (now, now))[0], now
                if self._failing.get(what) != str(error):
                    log.warning("not published", what=what, reason=str(error))
                self._failing[what] = str(error)
                if not until_done:
                    return
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self._failing.pop(what, None)
                self._failed.pop(what, None)
                return


def node_name(data_dir: Path) -> str:
    """The unique name under which this data folder's indexer publishes, made at its first start."""
    path = data_dir / NODE_FILE
    if not path.exists():
        data_dir.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{NODE_FILE}.partial")
        partial.write_text(secrets.token_hex(6))
        partial.replace(path)
    return path.read_text().strip()


def _parse(content: bytes) -> Manifest | None:
    try:
        return Manifest.model_validate_json(content)
    except ValidationError:
        return None


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False
