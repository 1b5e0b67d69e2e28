"""Who supports whom is asked of the operator's service, once a minute at most, and fails closed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from readapi.commands.network import open_network
from readapi.http import supporters
from readapi.http.supporters import Supporters
from schemas.access import Viewer
from schemas.ids import Did
from schemas.settings import Settings
from tests.patience import PATIENCE_SECONDS

MARA, IDA, BEN = Did("did:plc:mara"), Did("did:plc:ida"), Did("did:plc:ben")


@dataclass
class Verifier:
    """Somebody's service that knows who supports Mara: Ben."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    status: int = 200
    answer: object = None
    pause: float = 0.0
    address: str = ""

    async def handle(self, request: web.Request) -> web.Response:
        asked = request.query["artist"], request.query["viewer"]
        self.asked.append(asked)
        await asyncio.sleep(self.pause)
        answer = {"supports": asked == (MARA, BEN)} if self.answer is None else self.answer
        return web.json_response(answer, status=self.status)


@asynccontextmanager
async def asking(
    clock: list[float], timeout_seconds: float = 3.0
) -> AsyncIterator[tuple[Verifier, Supporters]]:
    """A verifier, and what asks it; the clock stands still."""
    verifier, app = Verifier(), web.Application()
    app.router.add_get("/supports", verifier.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    verifier.address = "http://{}:{}/supports".format(*runner.addresses[0][:2])
    settings = Settings(support_verifier=verifier.address)
    async with open_network(settings) as network:
        yield verifier, Supporters(network, verifier.address, lambda: clock[0], timeout_seconds)
    await runner.cleanup()


async def test_a_viewer_is_told_whom_they_support() -> None:
    """Of the artists asked about; nobody is asked about themselves."""
    async with asking([0.0]) as (verifier, known):
        viewer = await known.of(Viewer(BEN), [MARA, IDA, BEN])

        assert viewer == Viewer(BEN, frozenset({MARA}))
        assert sorted(verifier.asked) == [(IDA, BEN), (MARA, BEN)]
        assert await known.of(None, [MARA]) is None


async def test_an_answer_is_good_for_a_minute() -> None:
    """Also for those who ask at the same moment."""
    clock = [0.0]
    async with asking(clock) as (verifier, known):
        await asyncio.gather(*(known.of(Viewer(BEN), [MARA]) for _ in range(5)))
        clock[0] = supporters.LIFE_SECONDS - 1
        await known.of(Viewer(BEN), [MARA])
        assert len(verifier.asked) == 1

        clock[0] = supporters.LIFE_SECONDS + 1
        await known.of(Viewer(BEN), [MARA])

        assert len(verifier.asked) == 2


@pytest.mark.parametrize(
    ("status", "answer"),
    [(500, {"supports": True}), (200, {"supports": "yes"}), (200, [True]), (302, {"supports": True})],
)
async def test_whoever_does_not_clearly_say_yes_says_no(status: int, answer: object) -> None:
    """Errors, redirects and anything but true."""
    async with asking([0.0]) as (verifier, known):
        verifier.status, verifier.answer = status, answer

        assert await known.of(Viewer(BEN), [MARA]) == Viewer(BEN)


async def test_nobody_waits_for_a_verifier_that_hangs() -> None:
    """After a while the answer is no."""
    async with asking([0.0], timeout_seconds=0.1) as (verifier, known):
        verifier.pause = 2 * PATIENCE_SECONDS

        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await known.of(Viewer(BEN), [MARA]) == Viewer(BEN)


async def test_without_a_verifier_nobody_supports_anybody() -> None:
    """And the audience is not available."""
    async with open_network(Settings()) as network:
        known = Supporters(network, None)

        assert not known.available
        assert await known.of(Viewer(BEN), [MARA]) == Viewer(BEN)
