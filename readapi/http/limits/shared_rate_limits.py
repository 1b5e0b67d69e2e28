"""The same limits for all workers together: windows kept in Redis or Valkey, one round trip a request."""

import secrets
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

import structlog
from valkey.asyncio import Valkey
from valkey.exceptions import ValkeyError

from readapi.http.eager import in_task
from readapi.http.limits.rate_limits import Allowance, Limiter, RateLimits
from schemas.settings import Settings

log = structlog.get_logger()

ANSWER_SECONDS = 0.25
PAUSE_SECONDS = 1.0  # before the server is asked again after a failure

# The server's own clock, so that the clocks of workers need not agree. Microseconds.
_HIT = """
local moment = redis.call('TIME')
local now, length, most = moment[1] * 1e6 + moment[2], ARGV[1] * 1e6, tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - length))
local count, allowed = redis.call('ZCARD', KEYS[1]), 0
if count < most then
  count, allowed = count + 1, 1
  redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[3])
  redis.call('EXPIRE', KEYS[1], ARGV[1])
end
local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
return {allowed, most - count, math.ceil((oldest + length - now) / 1e6)}
"""


class SharedLimits(RateLimits):
    """`Limits` shared by all workers. While the server does not answer, each worker counts for itself."""

    def __init__(self, settings: Settings, client: Valkey) -> None:
        super().__init__(settings, time.monotonic)
        self._hit = client.register_script(_HIT)
        self._asks_again_at = 0.0

    def hit(self, client: str, path: str, method: str = "GET") -> Allowance | Awaitable[Allowance]:
        """Count one request, to a path without percent signs."""
        limiter = self.limiter_of(method, path)
        if time.monotonic() < self._asks_again_at:
            return limiter.hit(client)
        return self._hit_together(limiter, client)

    async def _hit_together(self, limiter: Limiter, client: str) -> Allowance:
        await in_task()  # the client library waits with timeouts
        try:
            return await self._shared(limiter, client)
        except (ValkeyError, OSError) as error:
            self._asks_again_at = time.monotonic() + PAUSE_SECONDS
            log.warning("limits are not shared just now", reason=type(error).__name__)
            return limiter.hit(client)

    async def _shared(self, limiter: Limiter, client: str) -> Allowance:
        rate, one = limiter.rate, secrets.token_hex(8)
        key = f"fmsvc:{limiter.name}:{rate.count}/{rate.seconds}:{client}"
        allowed, remaining, reset = await self._hit(keys=[key], args=[rate.seconds, rate.count, one])
        limiter.refused += 1 - allowed
        return Allowance(bool(allowed), rate.count, remaining, reset)


@asynccontextmanager
async def open_shared_limits(settings: Settings, url: str) -> AsyncIterator[RateLimits]:
    """Limits shared by all processes that use this address."""
    client = Valkey.from_url(
        address_of(url), socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS
    )
    async with client:
        yield SharedLimits(settings, client)


def address_of(url: str) -> str:
    """The address with a scheme that the client library knows: it calls Redis and Valkey alike."""
    scheme, separator, rest = url.partition("://")
    return scheme.replace("redis", "valkey") + separator + rest
