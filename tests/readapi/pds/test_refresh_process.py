"""Refreshes outlive the process that wanted them, and no two processes make the same one."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator

import pytest

from readapi.pds.refresh_process import RefreshProcess
from readapi.state.sign_in.grants import GrantId
from readapi.state.state import State
from schemas.settings import Settings
from tests.patience import PATIENCE_SECONDS
from tests.readapi.state.people import grant
from tests.readapi.token_server import TokenServer


@pytest.fixture
async def server() -> AsyncIterator[TokenServer]:
    async with TokenServer(hold_seconds=0.3) as started:
        yield started


def variables(settings: Settings) -> dict[str, str]:
    database = {} if settings.state_url is None else {"FMSVC_STATE_URL": settings.state_url}
    return {"FMSVC_DATA_DIR": str(settings.data_dir), **database}


async def start_user(settings: Settings, grant_id: GrantId, server: TokenServer, times: int) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.readapi.grant_user", "use", grant_id, server.url, str(times)),
        env={**os.environ, **variables(settings)},
        stdout=PIPE,
        start_new_session=True,
    )


async def stored_token(state: State, grant_id: GrantId) -> str:
    held = await state.grants.find(grant_id)
    assert held is not None
    assert held.grant is not None
    return held.grant.tokens.access_token


@pytest.mark.slow
async def test_two_processes_make_one_refresh(
    state: State, state_settings: Settings, server: TokenServer
) -> None:
    """Two hundred requests in all, on a grant that has expired."""
    grant_id = await state.grants.add(grant())

    users = [await start_user(state_settings, grant_id, server, 100) for _ in range(2)]
    said = [(await user.communicate())[0] for user in users]

    assert said == [b"access-token-2\n"] * 2
    assert server.used == ["refresh-token-1"]
    assert not server.revoked


@pytest.mark.slow
async def test_a_worker_killed_during_a_refresh_loses_nothing(
    state: State, state_settings: Settings, server: TokenServer
) -> None:
    """Its whole process group, after the server has exchanged the token and before it answers."""
    grant_id = await state.grants.add(grant())
    user = await start_user(state_settings, grant_id, server, 10)
    await server.asked.wait()

    os.killpg(user.pid, signal.SIGKILL)
    await user.communicate()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await stored_token(state, grant_id) == "access-token-1":  # noqa: ASYNC110  # another process's doing
            await asyncio.sleep(0.02)

    assert await stored_token(state, grant_id) == "access-token-2"
    assert not server.revoked


@pytest.mark.slow
async def test_a_keeper_that_was_killed_is_replaced(
    state: State, state_settings: Settings, server: TokenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the next question that needs one."""
    grant_id = await state.grants.add(grant())
    keeper = RefreshProcess([sys.executable, "-m", "tests.readapi.grant_user", "keep", server.url])
    for name, value in variables(state_settings).items():
        monkeypatch.setenv(name, value)
    await keeper.renew(grant_id, None)
    assert keeper.pid is not None

    os.kill(keeper.pid, signal.SIGKILL)
    await keeper.renew(grant_id, "access-token-2")
    await keeper.close()

    assert await stored_token(state, grant_id) == "access-token-3"
    assert not server.revoked
