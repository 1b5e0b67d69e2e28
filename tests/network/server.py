"""`fmsvc-server` in a child process, following a network on loopback."""

import asyncio
import contextlib
import os
import random
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
_FIRST_PORT, _LAST_PORT = 10_240, 32_767  # below Linux's net.ipv4.ip_local_port_range
_PORTS = iter(random.SystemRandom().sample(range(_FIRST_PORT, _LAST_PORT + 1), _LAST_PORT - _FIRST_PORT + 1))


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
    """A port that no program listens on at this moment.

    It is none of those that the system gives to connections, which may take one at any time, and this process
    gets none twice. Test processes draw theirs at random, so that two seldom have the same.
    """
    for port in _PORTS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"{_FIRST_PORT} to {_LAST_PORT} are all taken.")


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
    await process.wait()
