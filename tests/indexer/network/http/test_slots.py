"""Nobody holds more than a share of the connections, under however many names and addresses."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from yarl import URL

from indexer.network import ssrf
from indexer.network.http.slots import Full, SlotLimits, Slots


@pytest.mark.parametrize(
    ("hosts", "site"),
    [
        (["bsky.network", "a.bsky.network", "oyster.us-east.host.bsky.network."], "bsky.network"),
        (["music.co.uk", "pds.Music.co.uk"], "music.co.uk"),
        (["me.github.io", "x.me.github.io"], "me.github.io"),
        (["localhost"], "localhost"),
        (["192.0.2.1", "192.0.2.254"], "192.0.2.0/24"),
        (["::ffff:192.0.2.1"], "192.0.2.0/24"),
        (["2001:db8:7:1::1", "2001:db8:7:ffff::1"], "2001:db8:7::/48"),
    ],
)
def test_names_and_addresses_of_one_owner_count_as_one(hosts: list[str], site: str) -> None:
    assert {ssrf.site_of(host) for host in hosts} == {site}


async def taken(lanes: Slots, urls: list[str], places: list[str]) -> int:
    """How many of these find a lane at once."""
    found = 0
    async with AsyncExitStack() as stack:
        for url, place in zip(urls, places, strict=True):
            try:
                await stack.enter_async_context(lanes.to_name(URL(url)))
                await stack.enter_async_context(lanes.to_address(place))
                found += 1
            except Full:
                continue
    return found


@pytest.mark.parametrize(
    ("url", "place", "most"),
    [
        ("https://pds.example.com", "192.0.2.1", 2),
        ("https://h{}.example.com", "192.{}.2.1", 3),
        ("https://pds.example{}.com", "192.0.2.{}", 4),
        ("https://pds.example{}.com", "2001:db8:1:{}::", 4),
        ("https://pds.example{}.com", "192.{}.2.1", 5),
    ],
)
async def test_each_owner_gets_a_share(url: str, place: str, most: int) -> None:
    """An origin, a domain, a network; then all together."""
    lanes = Slots(SlotLimits(total=5, of_origin=2, of_site=3, of_network=4, patience_seconds=0))
    numbers = range(9)

    assert await taken(lanes, [url.format(n) for n in numbers], [place.format(n) for n in numbers]) == most
    assert await taken(lanes, ["https://other.example"], ["198.51.100.1"]) == 1


async def test_only_so_many_wait() -> None:
    """The others are told at once, and those who give up leave nothing behind."""
    lanes = Slots(SlotLimits(of_origin=1, waiting=2, patience_seconds=0.05))
    url = URL("https://pds.example.com")

    async def visit() -> bool:
        async with lanes.to_name(url):
            await asyncio.sleep(9)
        return True

    visits = [asyncio.create_task(visit()) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(Full, match="wait"):
        async with lanes.to_name(url):
            pass

    told = await asyncio.gather(*visits[1:], return_exceptions=True)
    visits[0].cancel()
    await asyncio.gather(visits[0], return_exceptions=True)

    assert [type(error) for error in told] == [Full, Full]
    async with lanes.to_name(url):
        pass
    assert lanes._lanes == {}
