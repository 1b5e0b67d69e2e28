"""Limits on request bodies while they arrive: a least speed for each, and few forms with files at once."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from aiohttp import StreamReader

from readapi.errors import RateLimited, RequestTimeout

PATIENCE_SECONDS = 30.0  # without a byte from the client
LEAST_BYTES_PER_SECOND = 16 << 10
MOST_FORMS = 32  # with files in memory, in one worker
MOST_FORMS_OF_ONE = 4
RETRY_AFTER = {"Retry-After": "10"}

Read = TypeVar("Read")


class BodyIntake:
    """The limits of one worker, and how many forms it is receiving from each client."""

    def __init__(
        self,
        patience_seconds: float = PATIENCE_SECONDS,
        least_bytes_per_second: int = LEAST_BYTES_PER_SECOND,
    ) -> None:
        self.patience_seconds = patience_seconds
        self.least_bytes_per_second = least_bytes_per_second
        self._forms: Counter[str] = Counter()

    @contextmanager
    def form(self, client: str) -> Iterator[None]:
        """Count one more form with files of a client while the block runs. Raises RateLimited."""
        if self._forms[client] >= MOST_FORMS_OF_ONE or self._forms.total() >= MOST_FORMS:
            raise RateLimited(
                "Too many forms are being received at once; try again later.", headers=RETRY_AFTER
            )
        self._forms[client] += 1
        try:
            yield
        finally:
            self._forms[client] -= 1
            if not self._forms[client]:
                del self._forms[client]


class Pace:
    """The pace of one body. A client below the least speed has `patience_seconds` to catch up.

    Only the time that is spent waiting for the client counts.
    """

    def __init__(self, intake: BodyIntake, content: StreamReader) -> None:
        self._patience_seconds = intake.patience_seconds
        self._least = intake.least_bytes_per_second
        self._content = content
        self._received = 0
        self._left_seconds = intake.patience_seconds

    async def keep(self, reading: Awaitable[Read]) -> Read:
        """Await one read and return its result. Raises RequestTimeout."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            async with asyncio.timeout(self._left_seconds):
                found = await reading
        except TimeoutError:
            raise RequestTimeout from None
        received = self._content.total_bytes
        earned = (received - self._received) / self._least
        self._received = received
        left_seconds = self._left_seconds - (clock() - began) + earned
        self._left_seconds = max(0.0, min(left_seconds, self._patience_seconds))
        return found
