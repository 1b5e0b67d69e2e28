"""Connection slots: limits the requests in flight, in all and to one origin, domain or network.

Names and ports cost an attacker nothing, and addresses little: a limit per origin would not be enough.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from yarl import URL

from indexer.network import ssrf


class Full(Exception):
    """No slot became free in time; the message names the limit."""


@dataclass(frozen=True, slots=True)
class SlotLimits:
    """The most requests in flight. Loopback is a network like any other.

    `waiting`: the most that wait for the same origin, domain or network; each at most `patience_seconds`.
    """

    total: int = 64
    of_origin: int = 4
    of_site: int = 16
    of_network: int = 16
    waiting: int = 32
    patience_seconds: float = 5.0


class _Lane:
    """The slots of one key. `users`: requests that hold a slot or wait for one."""

    def __init__(self, limit: int) -> None:
        self.turns = asyncio.Semaphore(limit)
        self.limit = limit
        self.users = 0


class Slots:
    """Takes slots in the order origin, domain, network, total: a waiting request holds narrower ones only."""

    def __init__(self, limits: SlotLimits) -> None:
        self._limits = limits
        self._lanes: dict[str, _Lane] = {}

    @asynccontextmanager
    async def to_name(self, url: URL) -> AsyncIterator[None]:
        """Hold slots of a URL's origin and registrable domain. Raises Full."""
        async with AsyncExitStack() as stack:
            origin, site = str(url.origin()), ssrf.site_of(url.raw_host or "")
            await stack.enter_async_context(self._lane(origin, self._limits.of_origin))
            await stack.enter_async_context(self._lane(f"site {site}", self._limits.of_site))
            yield

    @asynccontextmanager
    async def to_address(self, address: str) -> AsyncIterator[None]:
        """Hold slots of a resolved address's network and of the total. Raises Full."""
        async with AsyncExitStack() as stack:
            network = ssrf.network_of(address)
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
