"""Whoever goes away stops what only answers them, and nothing that changes something."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from readapi.http.endpoint import Detached, Routes
from tests.patience import PATIENCE_SECONDS
from tests.readapi.site import Site, running

routes = Routes("test")


@dataclass
class Work:
    """What a handler is at: begun, allowed to go on, and how it ended."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    ended: "asyncio.Queue[str]" = field(default_factory=asyncio.Queue)

    async def do(self) -> None:
        self.begun.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.ended.put_nowait("stopped")
            raise
        self.ended.put_nowait("done")


@routes.get("/ask")
async def ask(work: Work) -> None:
    """Answer."""
    await work.do()


@routes.get("/act", acts=True)
async def act(work: Work) -> None:
    """Change something."""
    await work.do()


@routes.post("/write")
async def write(work: Work) -> None:
    """Write something."""
    await work.do()


@pytest.fixture
async def site() -> AsyncIterator[tuple[Site, Work]]:
    work = Work()
    async with running(routes, {Work: work}) as opened:
        yield opened, work


async def begin(site: Site, asked: str) -> asyncio.StreamWriter:
    """Ask, on a connection of its own."""
    host, port = site.address.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"{asked} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    return writer


@pytest.mark.parametrize(
    ("asked", "end"), [("GET /ask", "stopped"), ("GET /act", "done"), ("POST /write", "done")]
)
async def test_whoever_hangs_up_stops_only_what_answers_them(
    site: tuple[Site, Work], asked: str, end: str
) -> None:
    """What changes something is done whole, though nobody hears of it."""
    writer = await begin(site[0], asked)
    await site[1].begun.wait()

    writer.transport.abort()
    await asyncio.sleep(0.1)
    site[1].go_on.set()

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await site[1].ended.get() == end


async def test_what_is_being_finished_is_given_up_in_the_end() -> None:
    """A service that stops waits for it, but not for ever."""
    finishing, slow, quick = Detached(), Work(), Work()
    clients = [asyncio.create_task(finishing.finish(work.do())) for work in (slow, quick)]
    await asyncio.gather(slow.begun.wait(), quick.begun.wait())
    for client in clients:
        client.cancel()
    quick.go_on.set()

    await finishing.close(0.1)

    assert (slow.ended.get_nowait(), quick.ended.get_nowait()) == ("stopped", "done")
    assert all(
        isinstance(left, asyncio.CancelledError)
        for left in await asyncio.gather(*clients, return_exceptions=True)
    )
