"""The indexer process: puts the parts together, starts what moves, and stops it in order."""

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import structlog

from indexer import internet, letters
from indexer.batch import Fetched, Picture
from indexer.catalogue import StoreError
from indexer.control import Control
from indexer.errands import Errands, Patience
from indexer.facts import Facts
from indexer.follower import Follower
from indexer.health import Health
from indexer.hosts import Hosts
from indexer.identity import KEEP_SECONDS
from indexer.intake import Intake
from indexer.internet import Internet
from indexer.judge import Judge
from indexer.keys import Key
from indexer.names import Dns
from indexer.nudges import Nudges
from indexer.pipeline import Pipeline
from indexer.prover import Prover
from indexer.repairs import Repairs
from indexer.repos import Repos
from indexer.resync import Resyncs
from indexer.retrial import Retrial
from indexer.revisits import Revisits
from indexer.sources import Source, choice, repo
from indexer.sources.plays import Plays
from indexer.spool import Spools
from indexer.stores import Stores
from indexer.upkeep import Upkeep
from schemas import heap
from schemas.ids import Did, record_key
from schemas.settings import Settings

LOOK_SECONDS = 0.5
PUBLISH_SECONDS = 0.1
GIVE_BACK_SECONDS = 15.0  # a busy indexer frees more in a minute than it needs
YOUNG_OBJECTS = 10_000  # before Python looks for garbage among them: a batch makes many, and few are cycles
RESYNCS = 256  # at once; each mostly waits for its server
RESYNC_PATIENCE = Patience(first_seconds=2, longest_seconds=6 * 3600)

log = structlog.get_logger()

Progress = Callable[[int], object]


class Indexer:
    """All parts around one source. `run` follows it until told to stop, `replay` until it ends."""

    def __init__(self, settings: Settings, source: Source, stores: Stores, ways: Internet) -> None:
        collections, outbound = settings.collections.all, ways.outbound
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
        self._hosts = Hosts(own=[settings.plc_url])
        self._downloads = ways.downloads
        self._spools = Spools(settings.data_dir)
        retry_seconds = settings.retry_seconds
        resyncs = Resyncs(
            self.repos,
            self._resolver,
            self._intake,
            self._fetch,
            away=lambda did: did in stores.writer.away,
            retry_seconds=retry_seconds,
        )
        self._resyncs = Errands[Did](
            "resync", resyncs.mend, workers=RESYNCS, patience=RESYNC_PATIENCE.within(retry_seconds)
        )
        judge = Judge(
            self.repos,
            collections,
            ask=self._resyncs.ask,
            doubt=self._resolver.doubt,
            forget=self._resolver.forget,
        )
        facts = Facts(self._resolver, outbound, self._intake, self.repos)
        self._identities = Errands[Did](
            "identity", facts.identity, workers=32, patience=Patience().within(retry_seconds)
        )
        self._pictures = Errands[Picture](
            "picture", facts.picture, workers=8, patience=Patience(longest_seconds=300, attempts=4)
        )
        self.follower = Follower(stores.follow, stores.prune, watermark=stores.watermark, op=stores.writer.op)
        self.upkeep = Upkeep(
            settings,
            source,
            self.repos,
            self._resolver,
            judge,
            self._intake,
            ways.operators,
            outbound,
            self._hosts,
            stores.writer,
        )
        self._revisits = Revisits(stores, judge, self._intake, self.repos, settings.identity_seconds)
        self.pipeline = Pipeline(
            source,
            collections,
            self.repos,
            cursor=choice.begin(source, stores.writer),
            intake=self._intake,
            identities=self._identities,
            pictures=self._pictures,
            follower=self.follower,
            judge=judge,
            gap=self.upkeep.gap,
            heard=self.upkeep.quiet.heard,
        )
        self._prover = Prover(self._resolver, outbound, self._hosts)
        self._nudges = Nudges(self._prover, self._intake, self.follower, collections, self.repos, judge)
        self.repairs = Repairs(stores, self._intake)
        self.retrial = Retrial(stores, self.pipeline, self._intake)
        self._health = Health(source, self.pipeline, self.follower, stores, self.repos, ways.clock)

    async def run(self, stop: asyncio.Event, give_back_seconds: float = GIVE_BACK_SECONDS) -> None:
        """Follow the source until `stop`; then commit what was read. Raises StoreError."""
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
                *letters.routes(self.stores, self.retrial),
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
                self._publish(),
                heap.keep_giving_back(give_back_seconds),
            )

    async def replay(self, reading: Coroutine[Any, Any, Any]) -> None:
        """Take in what is read, to its end. Raises StoreError.

        Repos that cannot be brought in step now are tried again by the next indexer.
        """
        await self._keep(self._to_its_end(reading), self._resyncs.run(), thorough=True)
        await self.stores.publish()

    async def _to_its_end(self, reading: Coroutine[Any, Any, Any]) -> None:
        await reading
        await self._intake.committed()
        await self._resyncs.idle()

    async def _keep(
        self, until: Coroutine[Any, Any, Any], *beside: Coroutine[Any, Any, Any], thorough: bool = False
    ) -> None:
        """Commit and follow while `until` lasts; then end what runs beside, and finish what was begun.

        `thorough`: until the search index is up with the catalogue. Otherwise the next start does the rest.
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

    async def _fetch(self, did: Did, pds: str, key: Key) -> Fetched:
        """A whole repo, when it is its server's turn."""
        collections = self._settings.collections.all
        async with self._hosts.turn(pds):
            now = datetime.now(UTC)
            return await repo.fetch(self._downloads, pds, did, key, collections, now, spools=self._spools)

    async def _look(self) -> None:
        while True:
            self.pipeline.lag.look(self._intake.is_empty)
            await asyncio.sleep(LOOK_SECONDS)

    async def _count_plays(self) -> None:
        async for counts in Plays(self._settings).changes():
            self._intake.batch.plays |= {record_key(uri): plays for uri, plays in counts.items()}
            self._intake.added(len(counts))
            await self._intake.room()

    async def _publish(self) -> None:
        while True:
            await self.stores.publish()
            await asyncio.sleep(PUBLISH_SECONDS)


async def run(settings: Settings) -> None:
    """Follow the relay until SIGTERM or SIGINT. Raises StoreError when our own store is at fault."""
    heap.bound()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=Dns())) as session:
        source = choice.choose(settings, session)
        async with opened(settings, source) as indexer:
            log.info("indexer started", source=source.name, cursor=indexer.pipeline.finished)
            # Every known account stays in memory; to walk them again and again took a twentieth of all time.
            gc.collect()
            gc.freeze()
            gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
            await indexer.run(stop)
            log.info("indexer stopped", cursor=indexer.pipeline.finished)


@asynccontextmanager
async def opened(settings: Settings, source: Source) -> AsyncIterator[Indexer]:
    """An indexer around this source, its stores open until the end of the block. Raises StoreError."""
    async with internet.opened(settings) as ways:
        stores = await asyncio.to_thread(Stores.open, settings)
        try:
            yield Indexer(settings, source, stores, ways)
        finally:
            await stores.close()


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one that says most: damage to our own store, else whatever broke first."""
    _, rest = group.split(StoreError)
    found = group.subgroup(StoreError) or rest or group
    error: BaseException = found
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
