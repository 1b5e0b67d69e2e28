"""Are hidden accounts still to be hidden? The relay is asked, in case it said otherwise and we missed it."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from indexer import xrpc
from indexer.audit import is_due
from indexer.events import Account
from indexer.outbound import Client, OutboundError
from schemas.ids import Did

LOOK_SECONDS: Final = 60.0
ANSWER_BYTES: Final = 8 << 10
ANSWER_SECONDS: Final = 15.0
MAX_NAME: Final = 64


class Statuses:
    """Asks about each hidden account once a day, at an hour of its own. `heard` is told what came of it."""

    def __init__(
        self,
        client: Client,
        relay_url: str,
        *,
        hidden: Callable[[], Collection[Did]],
        heard: Callable[[Account], None],
    ) -> None:
        self._client = client
        self._relay_url = relay_url
        self._hidden = hidden
        self._heard = heard

    async def run(self) -> None:
        """Until cancelled."""
        looked = time.time()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = time.time()
            await self._check(did for did in self._hidden() if is_due(did, looked, now))
            looked = now

    async def check_all(self) -> None:
        """Ask about all of them now."""
        await self._check(self._hidden())

    async def _check(self, dids: Iterable[Did]) -> None:
        for did in dids:
            # Of two statuses the later counts, and an event may overtake the answer.
            asked_at = datetime.now(UTC)
            if status := await self._status(did):
                self._heard(Account(0, did, asked_at, status))

    async def _status(self, did: Did) -> str | None:
        """What the relay says of it; None: nothing."""
        method = "com.atproto.sync.getRepoStatus"
        try:
            answer: dict[str, Any] = await xrpc.query(
                self._client, self._relay_url, method, ANSWER_BYTES, ANSWER_SECONDS, did=did
            )
        except OutboundError:
            return None
        if answer.get("active") is True:
            return "active"
        status = answer.get("status")
        return status if isinstance(status, str) and 0 < len(status) <= MAX_NAME else None
