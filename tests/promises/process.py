"""The indexer in a process of its own, to be killed and started again."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Any, Self

import aiohttp
import orjson

from schemas import data_folder
from tests.patience import PATIENCE_SECONDS


class Process:
    """The indexer, started and killed again and again; none is left behind."""

    def __init__(self, data_dir: Path, environment: dict[str, str]) -> None:
        self.data_dir = data_dir
        self._socket = data_dir / data_folder.CONTROL_SOCKET
        self._environment = {**os.environ, **environment, "FMSVC_DATA_DIR": str(data_dir)}
        self._child: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end(signal.SIGKILL)

    @property
    def runs(self) -> bool:
        return self._child is not None and self._child.returncode is None

    async def start(self) -> None:
        self._child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "readapi",
            "index",
            env=self._environment,
            stdout=asyncio.subprocess.DEVNULL,
        )

    async def end(self, number: signal.Signals) -> int:
        """Send a signal and wait. Returns the exit code."""
        assert self._child is not None
        with contextlib.suppress(ProcessLookupError):
            self._child.send_signal(number)
        return await self._child.wait()

    async def committed_more(self) -> None:
        """Wait until it has committed something since its start."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if (await self.health()).get("event_time"):
                    return
                await asyncio.sleep(0.02)

    async def health(self) -> dict[str, Any]:
        """What it says of itself; nothing while it does not answer."""
        try:
            return await self._ask("GET", "/health")
        except (aiohttp.ClientError, OSError):
            return {}

    async def audit(self) -> dict[str, int]:
        """Have every repo compared with its server. How many came to what."""
        return await self._ask("POST", "/audit")

    async def _ask(self, method: str, path: str) -> dict[str, Any]:
        connector = aiohttp.UnixConnector(str(self._socket))
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.request(method, f"http://indexer{path}") as response,
        ):
            answer: dict[str, Any] = orjson.loads(await response.read())
            return answer
