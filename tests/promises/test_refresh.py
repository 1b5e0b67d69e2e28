"""Whole services refresh grants at a real PDS: each once, whoever asks, and none is lost to kill -9.

KILLS sets how many times (3; make test-long 20), SEED repeats a run.
"""

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from readapi.state.state import open_state
from schemas.settings import Settings
from tests.network import server
from tests.network.person import Person
from tests.network.testnet import Testnet
from tests.patience import PATIENCE_SECONDS
from tests.readapi.door import Door, expire

pytestmark = [pytest.mark.network, pytest.mark.slow]

KILLS = int(os.environ.get("KILLS", "3"))
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
REFRESH_SECONDS = 1.6  # from the first request to the last moment at which a kill could hit


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield session


def variables(net: Testnet, settings: Settings, port: int, public_port: int) -> dict[str, str]:
    """Of one of several processes that are one service: they share its address and its state."""
    state = {} if settings.state_url is None else {"FMSVC_STATE_URL": settings.state_url}
    limits = {"FMSVC_RATE_LIMIT": "100000/minute", "FMSVC_AUTH_RATE_LIMIT": "100000/minute"}
    public = {"FMSVC_PUBLIC_URL": f"http://127.0.0.1:{public_port}", "FMSVC_LOG_LEVEL": "warning"}
    return {**server.settings(net, settings.data_dir, port), **public, **limits, **state}


async def answers(service: server.Server) -> None:
    """Wait until it does."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await service.ask("/health"))[0] != 200:  # noqa: ASYNC110  # another process's doing
            await asyncio.sleep(0.02)


async def version(settings: Settings, session: str) -> int:
    """How often what is behind the session was written."""
    async with open_state(settings) as state:
        found = await state.sessions.find(session)
        assert found is not None
        held = await state.grants.find(found.grant_id)
        assert held is not None
        assert held.grant is not None, held.ended_because
        return held.version


async def test_two_processes_refresh_a_grant_once(
    net: Testnet, client: aiohttp.ClientSession, state_settings: Settings, person: Person
) -> None:
    """Two hundred requests at once, half of them to each, on a grant that has expired."""
    ports = server.free_port(), server.free_port()
    first, second = (variables(net, state_settings, port, ports[0]) for port in ports)
    async with server.running_server(first, "api") as one, server.running_server(second, "api") as two:
        await answers(one)
        await answers(two)
        doors = Door(one.url, client), Door(two.url, client)
        session = await doors[0].sign_in(person)
        async with open_state(state_settings) as state:
            expired = await expire(state, session)

        replies = await asyncio.gather(*(doors[number % 2].me(session) for number in range(200)))

    assert {reply.status for reply in replies} == {200}
    assert await version(state_settings, session) == expired + 1
    assert len(await person.agreements()) == 1


async def test_a_service_killed_while_it_refreshes_loses_no_account(
    net: Testnet, client: aiohttp.ClientSession, tmp_path: Path, person: Person
) -> None:
    """kill -9 at any instant, again and again: afterwards the same session still acts at the PDS."""
    dice = random.Random(SEED)
    settings = Settings(data_dir=tmp_path)
    port, session = server.free_port(), ""
    ours = variables(net, settings, port, port)
    for _ in range(KILLS):
        async with server.running_server(ours, "api") as service:
            await answers(service)
            door = Door(service.url, client)
            session = session or await door.sign_in(person)
            async with open_state(settings) as state:
                await expire(state, session)
            asking = [asyncio.create_task(door.me(session)) for _ in range(10)]
            await asyncio.wait(asking, timeout=dice.uniform(0, REFRESH_SECONDS))
            service.process.send_signal(signal.SIGKILL)
            await service.process.wait()
            replies = await asyncio.gather(*asking, return_exceptions=True)
            answered = [reply.status for reply in replies if not isinstance(reply, BaseException)]
            assert set(answered) <= {200}, f"SEED={SEED}"

    async with server.running_server(ours, "api") as service:
        await answers(service)
        async with open_state(settings) as state:
            await expire(state, session)
        me = await Door(service.url, client).me(session)

    assert me.status == 200, f"SEED={SEED}: {me.json}"
    assert len(await person.agreements()) == 1
