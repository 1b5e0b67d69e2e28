"""The job worker's process ends when one of its tasks does, so that it is started again."""

import asyncio

import pytest
import structlog.testing

from readapi.commands.network import open_network
from readapi.processes.background import TaskEnded
from readapi.processes.job_worker import open_job_worker
from readapi.state.db.claims import WaitingRows
from readapi.state.state import State
from schemas.settings import Settings

SOON_SECONDS = 10.0


@pytest.mark.parametrize("state_settings", ["sqlite"], indirect=True)
async def test_a_worker_that_fails_ends_the_process(
    state: State, state_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an error that nothing expects. Which task it was is told, and the error logged."""

    async def fail(_: WaitingRows) -> bool:
        raise ZeroDivisionError

    monkeypatch.setattr(WaitingRows, "exist", fail)
    with structlog.testing.capture_logs() as logs:
        async with open_network(state_settings) as network, asyncio.timeout(SOON_SECONDS):
            with pytest.raises(TaskEnded, match="'the job worker' ended"):
                async with open_job_worker(state_settings, network) as tasks:
                    await tasks.until(asyncio.Event())

    assert [entry["task"] for entry in logs if entry["event"] == "background task ended"] == [
        "the job worker"
    ]


@pytest.mark.parametrize("state_settings", ["sqlite"], indirect=True)
async def test_a_worker_that_is_stopped_ends_quietly(state: State, state_settings: Settings) -> None:
    """The tasks that are cancelled with it are no failures."""
    stop = asyncio.Event()
    with structlog.testing.capture_logs() as logs:
        async with (
            open_network(state_settings) as network,
            open_job_worker(state_settings, network) as tasks,
            asyncio.timeout(SOON_SECONDS),
        ):
            stop.set()
            await tasks.until(stop)

    assert "background task ended" not in [entry["event"] for entry in logs]
