"""Lanes: how many requests may be under way at once, in all and to one origin, domain or network.

Names and ports cost an attacker nothing, and addresses little: a limit of each origin would not be enough.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from yarl import URL

from indexer import addresses


class Full(Exception):
    """No lane became free in time; the message says of what."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Most requests under way at once. Loopback is a network like any other.

    `waiting`: most that wait for the same origin, domain or network; each at most `patience_seconds`.
    """

    total: int = 64
    of_origin: int = 4
    of_site: int = 16
    of_network: int = 16
    waiting: int = 32
    patience_seconds: float = 5.0


class _Lane:
    """The turns of one key. `users`: those that have one, and those that wait."""

    def __init__(self, limit: int) -> None:
        self.turns = asyncio.Semaphore(limit)
        self.limit = limit
        self.users = 0


class Lanes:
    """Taken in the order origin, domain, network, total: a request that waits for one holds narrower ones."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lanes: dict[str, _Lane] = {}

    @asynccontextmanager
    async def to_name(self, url: URL) -> AsyncIterator[None]:
        """A lane to the origin and the registrable domain of an address. Raises Full."""
        async with AsyncExitStack() as stack:
            origin, site = str(url.origin()), addresses.site(url.raw_host or "")
            await stack.enter_async_context(self._lane(origin, self._limits.of_origin))
            await stack.enter_async_context(self._lane(f"site {site}", self._limits.of_site))
            yield

    @asynccontextmanager
    async def to_address(self, address: str) -> AsyncIterator[None]:
        """A lane to the network of a resolved address. Raises Full."""
        async with AsyncExitStack() as stack:
            network = addresses.network(address)
            await stack.enter_async_context(self._lane(f"network {network}", self._limits.of_network))
            await stack.enter_async_context(self._lane("all servers", self._limits.total))
            yield

    @asynccontextmanager
    async def _lane(self, key: str, limit: int) -> AsyncIterator[None]:
        lane = self._lanes.setdefault(key, _Lane(limit))
        if lane.users >= lane.limit + self._limits.waiting:
            raise Full(f"too many requests wait for {key}")
        lane.users += 1
        try:
            await self._turn(lane, key)
            try:
                yield
            finally:
                lane.turns.release()
        finally:
            lane.users -= 1
            if not lane.users:
                del self._lanes[key]

    async def _turn(self, lane: _Lane, key: str) -> None:
        if not lane.turns.locked():
            await lane.turns.acquire()  # does not wait, and needs no timer
            return
        try:
            async with asyncio.timeout(self._limits.patience_seconds):
                await lane.turns.acquire()
        except TimeoutError:
            raise Full(f"too many requests to {key} are under way") from None
