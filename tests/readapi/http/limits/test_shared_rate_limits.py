"""Limits that workers share: one window in a real Valkey, and each its own while that is gone."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from readapi.http.limits.rate_limits import Allowance, RateLimits
from readapi.http.limits.shared_rate_limits import address_of, open_shared_limits
from schemas.settings import Settings
from tests.valkey import running_valkey

SETTINGS = Settings(rate_limit="3/second", auth_rate_limit="10/minute")


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_valkey(tmp_path_factory.mktemp("valkey")) as address:
        yield address


async def hit(limits: RateLimits, client: str, path: str) -> Allowance:
    """Count a request; without a server's answer it is counted at once."""
    counted = limits.hit(client, path)
    return counted if isinstance(counted, Allowance) else await counted


async def test_two_workers_count_in_one_window(valkey: str) -> None:
    """However they take turns; each kind of route and each client has a window of its own."""
    async with open_shared_limits(SETTINGS, valkey) as one, open_shared_limits(SETTINGS, valkey) as other:
        hits = [await hit(worker, "a", "/auth/me") for worker in (one, other) * 6]
        elsewhere = await hit(one, "a", "/stats"), await hit(one, "b", "/auth/me")

    assert [one.allowed for one in hits] == [True] * 10 + [False] * 2
    assert [one.remaining for one in hits] == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0]
    assert all(59 <= one.reset_seconds <= 60 for one in hits)
    assert [hit.remaining for hit in elsewhere] == [2, 9]
    assert one.refused + other.refused == 2


async def test_kinds_of_routes_are_counted_apart_even_when_as_many_are_allowed(valkey: str) -> None:
    """Whoever has used up one may still sign in."""
    same = Settings(rate_limit="3/minute", auth_rate_limit="3/minute")
    async with open_shared_limits(same, valkey) as limits:
        hits = [(await hit(limits, "e", path)).allowed for path in ["/stats"] * 4 + ["/auth/me"]]

    assert hits == [True, True, True, False, True]


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://redis:6379/0", "valkey://redis:6379/0"),
        ("rediss://:redis@host", "valkeys://:redis@host"),
        ("valkey://redis", "valkey://redis"),
    ],
)
def test_of_an_address_nothing_but_its_scheme_is_another(url: str, address: str) -> None:
    assert address_of(url) == address


async def test_requests_at_the_same_time_are_all_counted(valkey: str) -> None:
    """None slips through between another's question and answer."""
    async with open_shared_limits(SETTINGS, valkey) as one, open_shared_limits(SETTINGS, valkey) as other:
        hits = await asyncio.gather(*(hit(worker, "c", "/auth/me") for worker in (one, other) * 20))

    assert sum(one.allowed for one in hits) == 10


async def test_waiting_helps(valkey: str) -> None:
    """Refused requests do not count."""
    async with open_shared_limits(SETTINGS, valkey) as limits:
        first = [(await hit(limits, "d", "/stats")).allowed for _ in range(5)]
        await asyncio.sleep(1.05)
        later = (await hit(limits, "d", "/stats")).allowed

    assert first == [True] * 3 + [False] * 2
    assert later


async def test_without_the_server_each_worker_counts_for_itself(tmp_path: Path) -> None:
    """Nobody waits for it, nobody is let through uncounted."""
    with running_valkey(tmp_path) as address:
        pass
    async with open_shared_limits(SETTINGS, address) as limits:
        hits = [(await hit(limits, "a", "/stats")).allowed for _ in range(5)]

    assert hits == [True] * 3 + [False] * 2
