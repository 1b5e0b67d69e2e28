"""A worker of the API: what runs beside its requests ends with it."""

import asyncio
import socket
from pathlib import Path

import pytest

from readapi.processes import api
from readapi.state.activity import Activity
from schemas.settings import Settings
from tests.patience import PATIENCE_SECONDS
from tests.readapi.serving import serving


async def test_a_worker_closes_its_state_after_what_runs_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that is cut while it writes gives its connection back before all connections are closed."""
    writes, ended = asyncio.Event(), asyncio.Event()

    async def flush(activity: Activity) -> None:
        if writes.is_set():
            assert ended.is_set()
            return
        writes.set()
        try:
            await asyncio.sleep(PATIENCE_SECONDS)
        finally:
            await asyncio.sleep(0.05)
            ended.set()

    monkeypatch.setattr(Activity, "flush", flush)
    monkeypatch.setattr(api, "FLUSH_SECONDS", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as sock:
        async with serving(Settings(data_dir=tmp_path), sock):
            await asyncio.wait_for(writes.wait(), PATIENCE_SECONDS)

    assert ended.is_set()
