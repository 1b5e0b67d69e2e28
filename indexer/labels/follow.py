"""All that changes labels: the labelers that the settings name, the operator, and the passing of time."""

import asyncio
from datetime import UTC, datetime
from functools import partial
from typing import Final

import structlog

from indexer.catalog import projections
from indexer.catalog.tables.cursors import ListProgress
from indexer.catalog.tables.labels import Statement
from indexer.catalog.writing.intake import Intake
from indexer.catalog.writing.writer import Writer
from indexer.labels.inquiry import METHOD, Inquiry
from indexer.labels.labeler import Labeler
from indexer.labels.subscription import BACKOFF, Subscription
from indexer.network.connect import Internet
from indexer.network.http.throttle import HostTurns
from indexer.network.ssrf import is_public
from indexer.network.websockets import WebSocketClient
from schemas.ids import Did
from schemas.labels import open_labels
from schemas.service_identity import service_did
from schemas.settings import Settings
from schemas.state_reader import Away, Missing
from schemas.takedowns import LOOK_SECONDS

EXPIRY_SECONDS: Final = 0.25  # between two looks whether a label has expired

_AFTER_ALL: Final = datetime.max.replace(tzinfo=UTC)  # what a complete list lacks is withdrawn, however new

log = structlog.get_logger()


class Labels:
    """Everything that brings labels into the batch. `run` it until it is cancelled."""

    def __init__(
        self, settings: Settings, ways: Internet, hosts: HostTurns, intake: Intake, writer: Writer
    ) -> None:
        self._settings = settings
        self._intake = intake
        self._writer = writer
        collections = projections.indexed_nsids(settings.collections)
        may_visit = partial(is_public, allow_loopback=settings.allow_loopback)  # labelers are where they say
        client = WebSocketClient(may_visit=may_visit)
        asked = {one.source: one for one in writer.listings() if one.collection == METHOD}
        inquiry = Inquiry(
            ways.outbound,
            hosts,
            intake,
            accounts=lambda: tuple(writer.tracked),
            namespace=settings.collections.namespace,
        )
        self.subscriptions = [
            Subscription(
                Labeler(did, ways.resolver, collections),
                client,
                intake,
                inquiry,
                cursor=writer.cursor(did),
                asked=asked.get(did),
                backoff=BACKOFF.within(settings.retry_seconds),
            )
            for did in settings.labelers
        ]
        self.is_decided = asyncio.Event()  # once the operator's labels are in a batch
        self._dropped = sorted(writer.label_sources() - {*settings.labelers, service_did(settings.base_url)})

    async def run(self) -> None:
        """Follow all of them; what labelers said that are no longer named is withdrawn."""
        for did in self._dropped:
            self._intake.batch.statements.append(Statement(did, None, (), _AFTER_ALL))
            # Named again, the labeler is asked for all at once: its cursor is after what is withdrawn here.
            self._intake.batch.listings.append(ListProgress(Did(did), METHOD))
            self._intake.added(1)
        async with asyncio.TaskGroup() as group:
            for subscription in self.subscriptions:
                group.create_task(subscription.run())
            group.create_task(self.follow_operator())
            group.create_task(self._expire())

    async def follow_operator(self) -> None:
        """Put all labels of the operator into the batch, first and after each decision, until cancelled."""
        source, known = service_did(self._settings.base_url), None
        async with open_labels(self._settings, source) as table:
            while True:
                try:
                    number = await table.newest()
                    if number != known:
                        stand = await table.standing()
                        self._intake.batch.statements.append(Statement(source, None, stand, _AFTER_ALL))
                        self._intake.added(1 + len(stand))
                        known = number
                        self.is_decided.set()
                        await self._intake.room()
                except Away as error:
                    if isinstance(error, Missing):
                        self.is_decided.set()
                    log.debug("labels of the operator not read", reason=str(error))
                await asyncio.sleep(LOOK_SECONDS)

    async def _expire(self) -> None:
        while True:
            if self._writer.labels_due(datetime.now(UTC)):
                self._intake.batch.expire = True
                self._intake.added(1)
            await asyncio.sleep(EXPIRY_SECONDS)
