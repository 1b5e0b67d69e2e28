"""`fmsvc-server` in a child process, following a network on loopback."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from tests.network.testnet import Testnet
from tests.patience import PATIENCE_SECONDS

STOP_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that was started; it may need a moment before it answers."""

    url: str
    process: asyncio.subprocess.Process
    session: aiohttp.ClientSession = field(repr=False)

    async def ask(self, path: str, **params: str | int) -> tuple[int, Any]:
        """Status and JSON of one GET; status 0 while nobody listens."""
        try:
            async with self.session.get(self.url + path, params=params) as response:
                is_json = response.content_type.endswith("json")
                return response.status, await response.json() if is_json else await response.text()
        except aiohttp.ClientConnectionError:
            return 0, None


def settings(net: Testnet, data_dir: Path, port: int) -> dict[str, str]:
    """The variables that make a server follow this network."""
    return {
        "FMSVC_DATA_DIR": str(data_dir),
        "FMSVC_RELAY": net.pds[0].relay_url,
        "FMSVC_PLC_URL": net.plc_url,
        "FMSVC_HANDLE_RESOLVER": net.pds[0].url,
        "FMSVC_ALLOW_LOOPBACK": "true",
        "FMSVC_PORT": str(port),
        "FMSVC_SHOWN_SECONDS": str(PATIENCE_SECONDS),
    }


@asynccontextmanager
async def running_server(
    variables: Mapping[str, str], command: str = "serve", *options: str
) -> AsyncIterator[Server]:
    """Run a server with these FMSVC_* variables and no others; it is stopped with the block."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FMSVC_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "readapi",
        command,
        *options,
        "--supervised",  # it ends with us, however we end
        env={**inherited, **variables},
        stdin=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C reaches us, and we stop it in our order
    )
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
            yield Server(f"http://127.0.0.1:{variables['FMSVC_PORT']}", process, session)
    finally:
        await _stop(process)


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
    await process.wait()
