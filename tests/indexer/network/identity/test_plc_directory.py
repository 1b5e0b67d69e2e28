"""The directory is left alone while it is down, or has asked for a pause."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from indexer.network.http.client import Answered, NotNow, Outbound, OutboundError
from indexer.network.identity.dns import Dns
from indexer.network.identity.plc_directory import DOWN_AFTER, PlcDirectory
from tests.network.doubles import Pages


@dataclass
class Asked:
    """A directory with a clock moved by hand, and the pages that answer for it."""

    pages: Pages
    directory: PlcDirectory
    now: float = 0.0

    async def fetch(self, did: str = "did:plc:a") -> bytes:
        return await self.directory.fetch(f"{self.pages.url}/{did}", 100)

    async def paused(self) -> float:
        """The seconds after which a refused request may come back. Fails if there is no pause."""
        before = len(self.pages.asked)
        with pytest.raises(NotNow) as refused:
            await self.fetch()
        assert len(self.pages.asked) == before
        return refused.value.retry_after


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with Pages() as pages, Outbound(Dns(), allow_loopback=True) as client:
        asked = Asked(pages, directory=None)  # type: ignore[arg-type]
        asked.directory = PlcDirectory(client, clock=lambda: asked.now)
        pages.answers = {"/did:plc:a": (200, b"{}"), "/did:plc:b": (503, b"")}
        yield asked


@pytest.mark.parametrize(
    ("status", "header", "seconds"), [(429, "20", 20), (429, "", 30), (503, "9", 9), (429, "86400", 600)]
)
async def test_a_pause_that_it_asks_for_is_kept_for_all_accounts(
    asked: Asked, status: int, header: str, seconds: float
) -> None:
    """Those who wait come back one after another."""
    asked.pages.answers["/did:plc:b"] = (status, b"")
    asked.pages.headers = {"Retry-After": header} if header else {}
    with pytest.raises(NotNow):
        await asked.fetch("did:plc:b")
    asked.now = 1.0
    told = [await asked.paused() for _ in range(20)]
    asked.now = seconds + 0.1

    assert seconds - 1 <= min(told) < max(told) <= (seconds - 1) * 1.5
    assert len(set(told)) > 10
    assert await asked.fetch() == b"{}"


async def test_a_shorter_pause_does_not_end_a_longer_one(asked: Asked) -> None:
    """Two requests were under way."""
    asked.directory._pause(100)
    asked.directory._pause(1)
    asked.now = 50

    assert await asked.paused() >= 50


async def test_one_that_is_down_is_asked_more_and_more_seldom(asked: Asked) -> None:
    """Each of many accounts alone would ask too often."""
    for _ in range(DOWN_AFTER):
        with pytest.raises(Answered):
            await asked.fetch("did:plc:b")
    pauses = []
    for _ in range(8):
        told = await asked.paused()
        pauses.append(next(full for full in (2, 4, 8, 16, 32, 60) if full <= told <= 1.5 * full))
        asked.now += pauses[-1] + 0.1
        with pytest.raises(Answered):
            await asked.fetch("did:plc:b")

    assert pauses == [2, 4, 8, 16, 32, 60, 60, 60]
    asked.now += 61
    assert await asked.fetch() == b"{}"
    with pytest.raises(Answered):
        await asked.fetch("did:plc:b")
    assert await asked.fetch() == b"{}"


async def test_accounts_that_it_does_not_know_are_no_failure_of_its_own(asked: Asked) -> None:
    """Anybody can make up their DIDs."""
    for _ in range(3 * DOWN_AFTER):
        with pytest.raises(OutboundError):
            await asked.fetch("did:plc:unknown")

    assert await asked.fetch() == b"{}"
