"""Runs what keeps the catalogue complete besides the stream: discovery, audits and account statuses."""

import asyncio
from collections import Counter
from datetime import UTC, datetime
from typing import Final

import orjson
from aiohttp import web

from indexer.catalog import projections
from indexer.catalog.tables.cursors import ListProgress
from indexer.catalog.writing.intake import Intake
from indexer.catalog.writing.writer import Writer
from indexer.events import Account
from indexer.network.http.client import Outbound
from indexer.network.http.operator_client import Operators
from indexer.network.http.throttle import HostTurns
from indexer.network.identity.resolver import Resolver
from indexer.stream import Source
from indexer.sync.account_status import AccountStatuses
from indexer.sync.apply_event import EventApplier
from indexer.sync.audit import Audit, Audited, Outcome
from indexer.sync.discovery import EVERYTHING, Discovery
from indexer.sync.quiet_repos import QuietRepos
from indexer.sync.states import Repos
from schemas.ids import Did
from schemas.settings import Settings

AUDIT_PATH: Final = "/audit"
OURS: Final = "ours"  # a listing's source: the tracked repos, to be compared with their PDSes
LOOK_SECONDS: Final = 0.1


class Maintenance:
    """Owns discovery, the audits and the status checks; their findings enter the batch like any event."""

    def __init__(
        self,
        settings: Settings,
        source: Source,
        repos: Repos,
        resolver: Resolver,
        applier: EventApplier,
        intake: Intake,
        operators: Operators,
        outbound: Outbound,
        hosts: HostTurns,
        writer: Writer,
    ) -> None:
        self._source = source
        self._repos = repos
        self._resolver = resolver
        self._applier = applier
        self._intake = intake
        self._writer = writer
        self._gap = asyncio.Event()
        if any(listing.source == OURS and listing.finished_at is None for listing in writer.listings()):
            self._gap.set()  # The last run ended before every repo was compared.
        self._statuses = AccountStatuses(
            operators, settings.relay_url, hidden=lambda: writer.hidden, heard=self._heard
        )
        self._audit = Audit(
            outbound,
            hosts,
            repos=self._repos,
            ours=self._ours,
            drifted=self._drifted,
            grace_seconds=settings.drift_seconds,
        )
        self.quiet = QuietRepos(self._ours, self._audit.check)
        self.discovery = Discovery(
            operators,
            settings.relay_url,
            projections.indexed_nsids(settings.collections),
            found=self._found,
            load=writer.listings,
            save=self._save,
        )

    async def run(self) -> None:
        """Run all parts until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._discover())
            group.create_task(self._audit.run())
            group.create_task(self.quiet.run())
            group.create_task(self._close_gaps())
            group.create_task(self._statuses.run())

    def gap(self) -> None:
        """Events are lost: compare every repo with its PDS, resolve every identity, run discovery again."""
        batch = self._intake.batch
        for did in self._repos.chaining():
            self._applier.happened("doubt", did, batch, "events are lost")
        batch.listings += [*self.discovery.renew(), ListProgress(OURS, EVERYTHING)]
        self._resolver.forget_all()
        batch.stale |= set(self._repos)
        self._intake.added(1)
        self._gap.set()

    async def audit(self) -> Counter[Outcome]:
        """Compare every repo with its PDS now. Returns the number of repos by outcome."""
        return await self._audit.check_all()

    def routes(self) -> list[web.RouteDef]:
        """The routes that a running indexer serves on its control socket."""

        async def audit(_: web.Request) -> web.Response:
            body = orjson.dumps(await self.audit())
            return web.Response(body=body, content_type="application/json")

        return [web.post(AUDIT_PATH, audit)]

    async def _discover(self) -> None:
        # Records written while the lists are read have to arrive on the stream.
        while not self._source.status.connected:  # noqa: ASYNC110 - sources have no event to wait for
            await asyncio.sleep(LOOK_SECONDS)
        await self.discovery.run()

    async def _close_gaps(self) -> None:
        while True:
            await self._gap.wait()
            self._gap.clear()
            await self._intake.committed()  # an event before the gap may have hidden an account
            await self._statuses.check_all()
            await self._audit.check_all()
            if not self._gap.is_set():
                await self._save(ListProgress(OURS, EVERYTHING, finished_at=datetime.now(UTC)))

    async def _found(self, dids: list[Did]) -> None:
        await self._intake.room()
        for did in dids:
            self._applier.happened("listed", did, self._intake.batch, "listed")
        self._intake.added(len(dids))

    async def _save(self, listing: ListProgress) -> None:
        self._intake.batch.listings.append(listing)
        self._intake.added()

    def _heard(self, account: Account) -> None:
        self._applier.account(account, self._intake.batch)
        self._intake.added(1)

    def _ours(self, did: Did) -> Audited | None:
        """Our state of a repo; None when it is not active, or its account is not: a PDS hides such a repo."""
        repo = self._repos[did]
        if repo.state != "active" or repo.pds is None or repo.rev is None or did in self._writer.away:
            return None
        return Audited(did, repo.pds, repo.rev)

    def _drifted(self, did: Did) -> None:
        # The account may have moved to another PDS without an event that we received.
        self._applier.doubt_identity(did, self._intake.batch)
        self._applier.happened("doubt", did, self._intake.batch, "its server has something else")
        self._intake.added(1)
