"""Answers to queries of one snapshot: each is asked for once, and shared by all clients that need it."""

import asyncio
import functools
from collections.abc import Callable
from typing import Final

from readapi.index.snapshots.messages import FoundRows, Query

MOST_ANSWERS: Final = 512
MOST_ROWS: Final = 100_000  # of all answers together: about 25 MB, as rows are narrow

Asked = asyncio.Future[FoundRows]


class SharedAnswers:
    """Remembers what `ask` returns until `clear`, the newest within the bounds. On the event loop.

    `ask` is called at once and returns a future. A failure is remembered for `failed_seconds`, and an answer
    that is not to be kept goes to those that wait for it.
    """

    def __init__(
        self,
        ask: Callable[[Query], Asked],
        failed_seconds: float = 0.0,
        is_kept: Callable[[FoundRows], bool] = lambda found: True,
    ) -> None:
        self._ask = ask
        self._is_kept = is_kept
        self._failed_seconds = failed_seconds
        self._known: dict[object, Asked] = {}
        self._running: set[Asked] = set()
        self._sizes: dict[object, int] = {}  # the rows of each answer that has come
        self._rows = 0  # all of these

    def __len__(self) -> int:
        return len(self._known)

    async def find(self, query: Query) -> FoundRows:
        """The answer. Raises what the future does."""
        key = _key(query)
        asked = self._known.get(key)
        if asked is None:
            if len(self._known) >= MOST_ANSWERS:
                self._forget_oldest()
            asked = self._known[key] = self._ask(query)
            self._running.add(asked)
            asked.add_done_callback(functools.partial(self._settle, key))
        # Shielded: others may wait for the same rows when one client hangs up.
        return await asyncio.shield(asked)

    def clear(self) -> None:
        """Forget all answers; those under way are still handed out."""
        self._known.clear()
        self._sizes.clear()
        self._rows = 0

    async def cancel(self) -> None:
        """Hand out nothing more."""
        for asked in self._running:
            asked.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _settle(self, key: object, asked: Asked) -> None:
        self._running.discard(asked)
        if asked.cancelled() or asked.exception() is not None:
            if self._failed_seconds:
                asyncio.get_running_loop().call_later(self._failed_seconds, self._expire, key, asked)
            else:
                self._expire(key, asked)
        elif not self._is_kept(asked.result()):
            self._expire(key, asked)
        elif self._known.get(key) is asked:
            self._sizes[key] = len(asked.result().rows)
            self._rows += self._sizes[key]
            while self._rows > MOST_ROWS:
                self._forget_oldest()

    def _expire(self, key: object, asked: Asked) -> None:
        if self._known.get(key) is asked:
            del self._known[key]

    def _forget_oldest(self) -> None:
        oldest = next(iter(self._known))
        del self._known[oldest]
        self._rows -= self._sizes.pop(oldest, 0)


def _key(query: Query) -> object:
    return (query.sql, *query.values.values())
