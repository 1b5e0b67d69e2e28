"""Asks the relay for the status of every hidden account, in case an #account event was missed."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from indexer import faults
from indexer.events import Account
from indexer.network import xrpc
from indexer.network.http.client import Client, OutboundError
from indexer.sync.audit import is_due
from schemas.ids import Did

LOOK_SECONDS: Final = 60.0
STEP_SECONDS: Final = 60.0  # a difference between wall clock and monotonic clock: the wall clock was set
ANSWER_BYTES: Final = 8 << 10
ANSWER_SECONDS: Final = 15.0
MAX_NAME: Final = 64

log = structlog.get_logger()


class AccountStatuses:
    """Asks about each hidden account once a day, at a time of its own, and calls `heard` with the status."""

    def __init__(
        self,
        client: Client,
        relay_url: str,
        *,
        hidden: Callable[[], Collection[Did]],
        heard: Callable[[Account], None],
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._relay_url = relay_url
        self._hidden = hidden
        self._heard = heard
        self._clock = clock
        self._steady = steady
        self._looked = clock(), steady()

    async def run(self) -> None:
        """Look every minute until cancelled."""
        self._looked = self._clock(), self._steady()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Ask about the accounts that became due since the last look; about all when our clock was set.

        A deletion received while the clock was behind is dated too early, so that newer records stay. Dated
        again by the right clock, it removes them.
        """
        (looked, steady), self._looked = self._looked, (self._clock(), self._steady())
        now, steady_now = self._looked
        if abs((now - looked) - (steady_now - steady)) >= STEP_SECONDS:
            log.warning("our clock was set", seconds=round((now - looked) - (steady_now - steady)))
            await self.check_all()
        else:
            await self._check(did for did in self._hidden() if is_due(did, looked, now))

    async def check_all(self) -> None:
        """Ask about all hidden accounts now."""
        await self._check(self._hidden())

    async def _check(self, dids: Iterable[Did]) -> None:
        for did in dids:
            # Of two statuses the later one counts, and an event may arrive before this answer.
            asked_at = datetime.now(UTC)
            try:
                if status := await self._status(did):
                    self._heard(Account(0, did, asked_at, status))
            except BaseException as error:
                if faults.is_fatal(error):
                    raise
                faults.record_fault("status", error)

    async def _status(self, did: Did) -> str | None:
        """The account's status at the relay; None when the relay does not answer."""
        method = "com.atproto.sync.getRepoStatus"
        try:
            answer: dict[str, Any] = await xrpc.run_query(
                self._client, self._relay_url, method, ANSWER_BYTES, ANSWER_SECONDS, did=did
            )
        except OutboundError:
            return None
        if answer.get("active") is True:
            return "active"
        status = answer.get("status")
        return status if isinstance(status, str) and 0 < len(status) <= MAX_NAME else None
