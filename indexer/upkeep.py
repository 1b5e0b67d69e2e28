"""What keeps the catalogue complete beside the stream: discovery of repos, and the audit of those we know."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import orjson
from aiohttp import web

from indexer.audit import Audit, Audited, Outcome
from indexer.backfill import EVERYTHING, Discovery
from indexer.batch import Listing
from indexer.events import Account
from indexer.hosts import Hosts
from indexer.identity import Resolver
from indexer.intake import Intake
from indexer.judge import Judge
from indexer.operators import Operators
from indexer.outbound import Outbound
from indexer.quiet import Quiet
from indexer.repos import Repos
from indexer.sources import Source
from indexer.statuses import Statuses
from indexer.writer import Writer
from schemas.ids import Did
from schemas.settings import Settings

AUDIT_PATH: Final = "/audit"
OURS: Final = "ours"  # in the place of a host: the repos that we know, to be compared with their servers
LOOK_SECONDS: Final = 0.1


class Upkeep:
    """Everything that it finds enters the batch like any event."""

    def __init__(
        self,
        settings: Settings,
        source: Source,
        repos: Repos,
        resolver: Resolver,
        judge: Judge,
        intake: Intake,
        operators: Operators,
        outbound: Outbound,
        hosts: Hosts,
        writer: Writer,
    ) -> None:
        self._source = source
        self._repos = repos
        self._resolver = resolver
        self._judge = judge
        self._intake = intake
        self._writer = writer
        self._gap = asyncio.Event()
        if any(listing.source == OURS and listing.finished_at is None for listing in writer.listings()):
            self._gap.set()  # The last run ended before all was compared.
        self._statuses = Statuses(
            operators, settings.relay_url, hidden=lambda: writer.hidden, heard=self._heard
        )
        self._audit = Audit(
            outbound,
            hosts,
            repos=self._audited,
            ours=self._ours,
            drifted=self._drifted,
            grace_seconds=settings.drift_seconds,
        )
        self.quiet = Quiet(self._ours, self._audit.check)
        self.discovery = Discovery(
            operators,
            settings.relay_url,
            settings.collections.all,
            found=self._found,
            load=writer.listings,
            save=self._save,
        )

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._discover())
            group.create_task(self._audit.run())
            group.create_task(self.quiet.run())
            group.create_task(self._close_gaps())
            group.create_task(self._statuses.run())

    def gap(self) -> None:
        """Events are lost: compare every repo with its server, ask who everybody is, read the lists again."""
        batch = self._intake.batch
        for did in self._repos.chaining():
            self._judge.happened("doubt", did, batch, "events are lost")
        batch.listings += [*self.discovery.renew(), Listing(OURS, EVERYTHING)]
        self._resolver.forget_all()
        batch.stale |= set(self._repos)
        self._intake.added(1)
        self._gap.set()

    async def audit(self) -> Counter[Outcome]:
        """Compare every repo with its server now. Returns how many came to what."""
        return await self._audit.check_all()

    def routes(self) -> list[web.RouteDef]:
        """What a running indexer answers on its control socket."""

        async def audit(_: web.Request) -> web.Response:
            body = orjson.dumps(await self.audit())
            return web.Response(body=body, content_type="application/json")

        return [web.post(AUDIT_PATH, audit)]

    async def _discover(self) -> None:
        # What is written while the lists are read has to be on the stream.
        while not self._source.status.connected:  # noqa: ASYNC110 - sources say nothing by themselves
            await asyncio.sleep(LOOK_SECONDS)
        await self.discovery.run()

    async def _close_gaps(self) -> None:
        while True:
            await self._gap.wait()
            self._gap.clear()
            await self._statuses.check_all()
            await self._audit.check_all()
            if not self._gap.is_set():
                await self._save(Listing(OURS, EVERYTHING, finished_at=datetime.now(UTC)))

    async def _found(self, dids: list[Did]) -> None:
        await self._intake.room()
        for did in dids:
            self._judge.happened("listed", did, self._intake.batch, "listed")
        self._intake.added(len(dids))

    async def _save(self, listing: Listing) -> None:
        self._intake.batch.listings.append(listing)
        self._intake.added()

    def _heard(self, account: Account) -> None:
        self._judge.account(account, self._intake.batch)
        self._intake.added(1)

    def _audited(self) -> Iterator[Audited]:
        return filter(None, [self._ours(did) for did, _ in self._repos.in_step()])

    def _ours(self, did: Did) -> Audited | None:
        """None for who is away as well: that their server shows nothing of them is as it should be."""
        repo = self._repos[did]
        if repo.state != "active" or repo.pds is None or repo.rev is None or did in self._writer.away:
            return None
        return Audited(did, repo.pds, repo.rev)

    def _drifted(self, did: Did) -> None:
        # It may be on another server by now, without our having heard of that.
        self._judge.doubt_identity(did, self._intake.batch)
        self._judge.happened("doubt", did, self._intake.batch, "its server has something else")
        self._intake.added(1)
