"""The indexer process: constructs its parts, starts their tasks, and stops them in order."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from indexer.catalog import projections
from indexer.catalog.play_counts import PlayCounts
from indexer.catalog.tables.images import Picture
from indexer.catalog.takedowns import follow_takedowns
from indexer.catalog.writing.intake import Intake
from indexer.control import dead_letters
from indexer.control.health import Health
from indexer.control.nudge import Nudges
from indexer.control.prove import Prover
from indexer.control.repairs import Repairs
from indexer.control.replay import Replay
from indexer.control.socket import Control
from indexer.faults import StoreError
from indexer.labels.follow import Labels
from indexer.network import connect
from indexer.network.connect import Internet
from indexer.network.http.throttle import HostTurns
from indexer.network.identity.resolver import KEEP_SECONDS
from indexer.network.retry_queue import RetryQueue
from indexer.pipeline import Pipeline
from indexer.repo.extract import Fetched
from indexer.repo.signing_keys import Key
from indexer.search.follower import Follower
from indexer.stores import Stores
from indexer.stream import Source, select
from indexer.sync import fetch
from indexer.sync.apply_event import EventApplier
from indexer.sync.enrich import Enrichment
from indexer.sync.fetch_process import FetchProcess
from indexer.sync.fetch_worker import Task
from indexer.sync.first_cursor import choose_cursor
from indexer.sync.identity_refresh import IdentityRefresh
from indexer.sync.maintenance import Maintenance
from indexer.sync.resync import Resyncs
from indexer.sync.spool import Spools
from indexer.sync.states import Repos
from schemas import heap, stop_signals
from schemas.backoff import Backoff
from schemas.ids import Did, record_key
from schemas.settings import Settings

LOOK_SECONDS = 0.5
PUBLISH_SECONDS = 0.1
UNDECIDED = "Nothing is shown until the operator's takedowns and labels were read from the state database."
DECISIONS_SECONDS = 10.0  # that a replay waits for the state database, to publish what it made
GIVE_BACK_SECONDS = 15.0  # a busy indexer frees more in a minute than it needs
YOUNG_OBJECTS = 10_000  # before Python looks for garbage among them: a batch makes many, and few are cycles
RESYNCS = 256  # at once; each mostly waits for its PDS
RESYNC_BACKOFF = Backoff(first_seconds=2, longest_seconds=6 * 3600)
IDENTITY_BACKOFF = Backoff(first_seconds=2, longest_seconds=3600)
PICTURE_BACKOFF = Backoff(first_seconds=30, longest_seconds=300)

log = structlog.get_logger()

Progress = Callable[[int], object]


class Indexer:
    """All parts around one source. `run` follows it until stopped, `replay` until it ends."""

    def __init__(self, settings: Settings, source: Source, stores: Stores, ways: Internet) -> None:
        self._collections = projections.indexed_nsids(settings.collections)
        collections, outbound = self._collections, ways.outbound
        self._settings = settings
        self._source = source
        self.stores = stores
        self._resolver = ways.resolver
        now = datetime.now(UTC)
        for known, at in stores.writer.resolved_since(now - timedelta(seconds=KEEP_SECONDS)):
            self._resolver.remember(known, (now - at).total_seconds())
        self._intake = Intake(
            stores.write,
            batch_rows=settings.batch_rows,
            batch_seconds=settings.batch_seconds,
            buffer_bytes=settings.buffer_bytes,
        )
        self.repos = Repos(stores.writer.repos())
        self._hosts = HostTurns(own=[settings.plc_url])
        self._downloads = ways.downloads
        self._spools = Spools(settings.data_dir)
        task = Task(self._collections, settings.data_dir, settings.allow_loopback)
        self._fetch_process = FetchProcess(task, ways.clock.heard)
        retry_seconds = settings.retry_seconds
        resyncs = Resyncs(
            self.repos,
            self._resolver,
            self._intake,
            self._fetch,
            away=lambda did: did in stores.writer.away,
            retry_seconds=retry_seconds,
        )
        self._resyncs = RetryQueue[Did](
            "resync", resyncs.run, workers=RESYNCS, backoff=RESYNC_BACKOFF.within(retry_seconds)
        )
        applier = EventApplier(
            self.repos,
            collections,
            ask=self._resyncs.ask,
            doubt=self._resolver.doubt,
            forget=self._resolver.forget,
        )
        facts = Enrichment(self._resolver, outbound, self._intake, self.repos, applier.resolved)
        self._identities = RetryQueue[Did](
            "identity", facts.identity, workers=32, backoff=IDENTITY_BACKOFF.within(retry_seconds)
        )
        self._pictures = RetryQueue[Picture](
            "picture", facts.picture, workers=8, backoff=PICTURE_BACKOFF, attempts=4
        )
        self.follower = Follower(stores.follow, stores.prune, watermark=stores.watermark, op=stores.writer.op)
        self.upkeep = Maintenance(
            settings,
            source,
            self.repos,
            self._resolver,
            applier,
            self._intake,
            ways.operators,
            outbound,
            self._hosts,
            stores.writer,
        )
        self._revisits = IdentityRefresh(stores, applier, self._intake, self.repos, settings.identity_seconds)
        self.pipeline = Pipeline(
            source,
            collections,
            self.repos,
            cursor=choose_cursor(source, stores.writer),
            intake=self._intake,
            identities=self._identities,
            pictures=self._pictures,
            follower=self.follower,
            applier=applier,
            gap=self.upkeep.gap,
            heard=self.upkeep.quiet.heard,
        )
        self.labels = Labels(settings, ways, self._hosts, self._intake, stores.writer)
        self._has_taken_down = asyncio.Event()  # set once the takedowns were put into a batch
        self._may_show = asyncio.Event()  # never set for a new index that lacks the operator's decisions
        if stores.snapshots.current.exists():
            self._may_show.set()
        self._prover = Prover(self._resolver, outbound, self._hosts)
        self._nudges = Nudges(self._prover, self._intake, self.follower, collections, self.repos, applier)
        self.repairs = Repairs(stores, self._intake)
        self.retrial = Replay(stores, self.pipeline, self._intake)
        self._health = Health(source, self.pipeline, self.follower, stores, self.repos, ways.clock)
        self._health.warn(lambda: [] if self._may_show.is_set() else [UNDECIDED])

    async def run(self, stop: asyncio.Event, give_back_seconds: float = GIVE_BACK_SECONDS) -> None:
        """Follow the source until `stop` is set; then commit the frames read. Raises StoreError."""
        self._identities.ask(self.stores.writer.unresolved())
        self._pictures.ask(self.stores.writer.unmeasured())
        self._resyncs.ask(self.repos.out_of_step())
        control = Control(
            self._settings.data_dir,
            health=self._health.report,
            metrics=self._health.metrics,
            nudge=self._nudges.apply,
            prove=self._prover.prove,
            routes=[
                *dead_letters.letter_routes(self.stores, self.retrial),
                *self.upkeep.routes(),
                *self.repairs.routes(),
            ],
        )
        async with control:
            await self._keep(
                stop.wait(),
                self.pipeline.read(anew=self.pipeline.finished is None and len(self.repos) > 0),
                self._identities.run(),
                self._pictures.run(),
                self._resyncs.run(),
                self.upkeep.run(),
                self._revisits.run(),
                self.repairs.run(),
                self._look(),
                self._count_plays(),
                self._take_down(),
                self.labels.run(),
                self._admit(),
                self._publish(),
                self._replicate(),
                heap.keep_trimming(give_back_seconds),
            )

    async def replay(self, reading: Coroutine[Any, Any, Any]) -> None:
        """Run `reading` to its end and commit all of it. Raises StoreError.

        Repos that cannot be resynced now are tried again when an indexer next runs. A new index is published
        then, if the state database does not answer now.
        """
        await self._keep(
            self._to_its_end(reading),
            self._resyncs.run(),
            self._take_down(),
            self.labels.follow_operator(),
            thorough=True,
        )
        if not self._may_show.is_set():
            log.warning("not published", reason="the operator's takedowns and labels could not be read")
            return
        self.stores.snapshots.caught_up()
        await self.stores.publish()
        await self.stores.derive()

    async def _to_its_end(self, reading: Coroutine[Any, Any, Any]) -> None:
        await reading
        await self._intake.committed()
        await self._resyncs.idle()
        with contextlib.suppress(TimeoutError):  # `replay` tells it
            await self._admit(DECISIONS_SECONDS)

    async def _keep(
        self, until: Coroutine[Any, Any, Any], *beside: Coroutine[Any, Any, Any], thorough: bool = False
    ) -> None:
        """Commit and index while `until` runs; then cancel the tasks in `beside` and commit the last batch.

        `thorough`: also wait until the search index has caught up. Otherwise the next start does the rest.
        """
        try:
            async with asyncio.TaskGroup() as group:
                committing = group.create_task(self._intake.run())
                following = group.create_task(self.follower.run())
                running = [group.create_task(work) for work in beside]
                await until
                for task in running:
                    task.cancel()
                await asyncio.gather(*running, return_exceptions=True)
                self._intake.close()
                await committing
                if thorough:
                    await self.follower.reached(self.stores.writer.op)
                self.follower.close()
                await following
        except BaseExceptionGroup as group:
            raise _first(group) from None
        finally:
            await self._fetch_process.close()

    async def _fetch(self, did: Did, pds: str, key: Key) -> Fetched:
        """Fetch a repo's records, when the throttle gives its PDS a slot."""
        async with self._hosts.turn(pds):
            if self._fetch_process.is_worth_it(len(self._resyncs)):
                return await self._fetch_process.fetch(pds, did, key)
            now = datetime.now(UTC)
            return await fetch.fetch_repo(
                self._downloads, pds, did, key, self._collections, now, spools=self._spools
            )

    async def _look(self) -> None:
        while True:
            self.pipeline.lag.look(self._intake.is_empty)
            await asyncio.sleep(LOOK_SECONDS)

    async def _count_plays(self) -> None:
        async for counts in PlayCounts(self._settings).changes():
            self._intake.batch.plays |= {record_key(uri): plays for uri, plays in counts.items()}
            self._intake.added(len(counts))
            await self._intake.room()

    async def _take_down(self) -> None:
        async for subjects in follow_takedowns(self._settings):
            self._intake.batch.takedowns = subjects
            self._intake.added(1)
            self._has_taken_down.set()
            await self._intake.room()

    async def _admit(self, most_seconds: float | None = None) -> None:
        """Let others see a new index once it has all that the operator has decided.

        Raises TimeoutError when the decisions cannot be read for so long.
        """
        if self._may_show.is_set():
            return
        async with asyncio.timeout(most_seconds):
            await self._has_taken_down.wait()
            await self.labels.is_decided.wait()
        await self._intake.committed()
        await self.follower.reached(self.stores.writer.op)
        self._may_show.set()

    async def _publish(self) -> None:
        await self._may_show.wait()
        async with asyncio.TaskGroup() as group:
            deriving: asyncio.Task[None] | None = None
            while True:
                if self._is_caught_up():
                    self.stores.snapshots.caught_up()
                await self.stores.publish()
                if deriving is None or deriving.done():
                    deriving = group.create_task(self.stores.derive())
                await asyncio.sleep(PUBLISH_SECONDS)

    async def _replicate(self) -> None:
        """Publish for other machines, if the settings say where."""
        if (url := self._settings.publish_url) is not None:
            # Imported only where it is used, since it imports the client of object stores.
            from indexer.replication.publish.run import run_publisher

            await self._may_show.wait()
            await run_publisher(
                self._settings,
                url,
                self._health.report,
                self._is_fresh,
                self._nudges.apply,
                self._health.warn,
            )

    def _is_fresh(self) -> bool:
        """True when the lag is small, and the search index is not being rebuilt."""
        lag = self.pipeline.lag.seconds()
        return lag is not None and lag <= self._settings.ready_lag_seconds and self.follower.watermark >= 0

    def _is_caught_up(self) -> bool:
        """True when repos are known, discovery is done, every resync was tried, and the lag is small."""
        lag = self.pipeline.lag.seconds()
        return (
            len(self.repos) > 0
            and self.upkeep.discovery.reading is None
            and self._resyncs.is_idle
            and lag is not None
            and lag <= self._settings.ready_lag_seconds
        )


def choose_source(settings: Settings) -> Source:
    """The source that the settings ask for, of the collections that are indexed."""
    return select.choose_source(settings, projections.indexed_nsids(settings.collections))


async def run_indexer(settings: Settings) -> None:
    """Follow the relay until SIGTERM or SIGINT. Raises StoreError when our own store is at fault."""
    heap.bound_arenas()
    stop = stop_signals.stop_event()
    source = choose_source(settings)
    async with open_indexer(settings, source) as indexer:
        log.info("indexer started", source=source.name, cursor=indexer.pipeline.finished)
        # Every known account stays in memory; the garbage collector spent 5 % of all time walking them.
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
        await indexer.run(stop)
        log.info("indexer stopped", cursor=indexer.pipeline.finished)


@asynccontextmanager
async def open_indexer(settings: Settings, source: Source) -> AsyncIterator[Indexer]:
    """Open the stores and build an indexer around this source, until the block ends. Raises StoreError."""
    async with connect.open_internet(settings) as ways:
        stores = await asyncio.to_thread(Stores.open, settings)
        try:
            yield Indexer(settings, source, stores, ways)
        finally:
            await stores.close()


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The most telling error of a group: damage to our own store, else the first one."""
    _, rest = group.split(StoreError)
    found = group.subgroup(StoreError) or rest or group
    error: BaseException = found
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
