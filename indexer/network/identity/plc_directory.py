"""The PLC directory, asked about did:plc, and left alone while it is down or has asked for a pause.

https://web.plc.directory/spec/v0.1/did-plc
"""

import random
import time
from collections.abc import Callable
from typing import Final

from indexer.network.http.client import Answered, Client, NoSuchHost, NotNow, Unreachable
from schemas.backoff import Backoff

ANSWER_SECONDS: Final = 8.0
NO_SUCH_DOCUMENT: Final = (301, 302, 303, 307, 308, 404, 410)  # identities do not redirect
PAUSE_SECONDS: Final = 30.0  # for a directory that answers 429 without a Retry-After
LONGEST_PAUSE_SECONDS: Final = 600.0
DOWN_AFTER: Final = 10  # failures in a row, of which each may be of another account
DOWN: Final = Backoff(first_seconds=2.0, longest_seconds=60.0)


class PlcDirectory:
    """Fetches from it. During a pause nothing is sent, however many accounts wait."""

    def __init__(
        self, client: Client, retry_seconds: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._clock = clock
        self._down = DOWN.within(retry_seconds)
        self._failures = 0
        self._paused_until = 0.0

    def require(self) -> None:
        """Raise NotNow during a pause, with different seconds each time: not all shall come back at once."""
        if (seconds := self._paused_until - self._clock()) > 0:
            raise NotNow(
                "the directory is down, or asked for a pause",
                seconds * random.uniform(1.0, 1.5),  # noqa: S311 - hides nothing
            )

    async def fetch(self, url: str, max_bytes: int) -> bytes:
        """The body of a 200 answer. Raises NotNow during a pause, or OutboundError."""
        self.require()
        try:
            body = await self._client.fetch(url, max_bytes, ANSWER_SECONDS)
        except Answered as answered:
            if answered.status in NO_SUCH_DOCUMENT:
                self._failures = 0
            elif answered.transient and (answered.status == 429 or answered.retry_after is not None):
                self._pause(min(answered.retry_after or PAUSE_SECONDS, LONGEST_PAUSE_SECONDS))
                self.require()
            else:
                self._failed()
            raise
        except (Unreachable, NoSuchHost):
            self._failed()
            raise
        self._failures = 0
        return body

    def _failed(self) -> None:
        if self._clock() < self._paused_until:
            return  # It was sent before the pause.
        self._failures += 1
        if self._failures >= DOWN_AFTER:
            self._pause(self._down.full_pause(self._failures - DOWN_AFTER + 1))

    def _pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, self._clock() + seconds)
