"""Throttles requests to other servers: few at a time to each host and domain, and none during its pause."""

import asyncio
import heapq
import itertools
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import Counter
from yarl import URL

from indexer.network import ssrf
from indexer.network.http.client import Answered, NotNow
from schemas.backoff import Backoff

LANES: Final = 2
LANES_OF_OUR_OWN: Final = 8
LANES_OF_A_SITE: Final = 32  # of all hosts under one registrable domain
LONGEST_LINE: Final = 16
MOST_WAITING: Final = 64  # in all lines together: each waiting request keeps a worker idle
# Before any turn has ended. A guess that is too short costs a question more, one too long leaves lanes empty.
FIRST_TURN_SECONDS: Final = 0.1
BACKOFF: Final = Backoff(first_seconds=30.0, longest_seconds=3600.0)
WORTH_WAITING_SECONDS: Final = 5.0
REMEMBERED: Final = 10_000

PAUSED = Counter("fmsvc_hosts_paused_total", "Times that a server asked us to stay away for a while.")


@dataclass(slots=True)
class _Host:
    """`turn_seconds`: average duration of a turn; `promised_until`: when refused requests are served."""

    lanes: int
    free: int
    line: list[tuple[bool, int, asyncio.Future[None]]] = field(default_factory=list)
    refusals: int = 0
    paused_until: float = 0.0
    turn_seconds: float = FIRST_TURN_SECONDS
    promised_until: float = 0.0

    def is_idle(self, now: float) -> bool:
        return self.free == self.lanes and self.paused_until <= now


class HostTurns:
    """`async with hosts.turn(pds):` around each request to a server.

    Servers in `own`, from the operator's settings, and those on loopback get more lanes. Few requests may
    wait, for one host and in all, so that no host, however slow and under however many names, occupies all
    workers.
    """

    def __init__(self, own: Collection[str] = (), clock: Callable[[], float] = time.monotonic) -> None:
        self._own = frozenset(URL(url).host for url in own) | {"localhost", "127.0.0.1", "::1"}
        self._clock = clock
        self._hosts: dict[str, _Host] = {}
        self._waiting = 0
        self._tickets = itertools.count()

    @asynccontextmanager
    async def turn(self, url: str, *, urgent: bool = False) -> AsyncIterator[None]:
        """Wait for a lane; urgent turns go first. Raises NotNow instead of a long wait.

        An answer of 429, or any that says when to come back, raised within the turn makes the host rest.
        """
        address = URL(url)
        if len(self._hosts) > REMEMBERED - 2:
            self._forget()
        host = self._host(address.authority, LANES_OF_OUR_OWN if address.host in self._own else LANES)
        site = self._host(f"site {ssrf.site_of(address.raw_host or '')}", LANES_OF_A_SITE)
        async with self._lane(host, urgent):
            try:
                await self._rest(host)
                async with self._lane(site, urgent):
                    yield
                host.refusals = 0
            except Answered as refusal:
                self._refused(host, refusal)
                raise

    @asynccontextmanager
    async def _lane(self, host: _Host, urgent: bool) -> AsyncIterator[None]:
        await self._enter(host, urgent)
        entered = self._clock()
        try:
            yield
        finally:
            host.turn_seconds += (self._clock() - entered - host.turn_seconds) / 8
            self._call_next(host)

    def _host(self, name: str, lanes: int) -> _Host:
        return self._hosts.setdefault(name, _Host(lanes, free=lanes))

    def _forget(self) -> None:
        """Drop idle hosts: accounts can name any number of them."""
        now = self._clock()
        self._hosts = {name: host for name, host in self._hosts.items() if not host.is_idle(now)}

    async def _enter(self, host: _Host, urgent: bool) -> None:
        if host.free:
            host.free -= 1
            return
        if (len(host.line) >= LONGEST_LINE or self._waiting >= MOST_WAITING) and not urgent:
            raise NotNow("too many wait for this server", self._promise(host))
        place = asyncio.get_running_loop().create_future()
        heapq.heappush(host.line, (not urgent, next(self._tickets), place))
        self._waiting += 1
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._call_next(host)
            raise
        finally:
            self._waiting -= 1

    def _promise(self, host: _Host) -> float:
        """Seconds after which to retry, so that refused requests return as fast as they can be served.

        A request that would be served later than the longest pause is promised no turn, and retries after it.
        """
        now = self._clock()
        start = max(host.promised_until, now + host.turn_seconds * LONGEST_LINE / host.lanes / 2)
        if start - now >= BACKOFF.longest_seconds:
            return BACKOFF.longest_seconds
        host.promised_until = start + host.turn_seconds / host.lanes
        return start - now

    async def _rest(self, host: _Host) -> None:
        while (seconds := host.paused_until - self._clock()) > 0:
            if seconds > WORTH_WAITING_SECONDS:
                raise NotNow(f"the server asked for a pause of {seconds:.0f} s more", seconds)
            await asyncio.sleep(seconds)

    def _refused(self, host: _Host, refusal: Answered) -> None:
        if refusal.status != 429 and refusal.retry_after is None:
            return
        longer = BACKOFF.full_pause(host.refusals + 1)
        seconds = longer if refusal.retry_after is None else refusal.retry_after
        host.refusals += 1
        host.paused_until = max(host.paused_until, self._clock() + min(seconds, BACKOFF.longest_seconds))
        PAUSED.inc()

    def _call_next(self, host: _Host) -> None:
        while host.line:
            _, _, place = heapq.heappop(host.line)
            if not place.done():
                place.set_result(None)
                return
        host.free += 1
