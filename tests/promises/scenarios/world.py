"""Two servers and a directory, a relay, gates between, an indexer that follows, and an API that shows."""

import asyncio
import itertools
import signal
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from schemas import data_folder
from tests.network import server
from tests.network.gate import Gate
from tests.network.merging_relay import MergingRelay
from tests.network.pds import Account, XrpcError
from tests.network.testnet import Network, Testnet
from tests.patience import PATIENCE_SECONDS
from tests.promises.process import Process
from tests.promises.scenarios import oracle
from tests.promises.scenarios.truth import Hosted, Truth
from tests.promises.scenarios.witness import Witness

HASTE = {
    "FMSVC_LOG_LEVEL": "error",
    "FMSVC_BATCH_SECONDS": "0.05",
    "FMSVC_SNAPSHOT_SECONDS": "0.1",
    "FMSVC_SNAPSHOT_SHARE": "0.5",
    "FMSVC_PARQUET_SECONDS": "0",
    "FMSVC_RETRY_SECONDS": "0.2",
    "FMSVC_DRIFT_SECONDS": "0.5",
    "FMSVC_RATE_LIMIT": "1000000/minute",
}


@dataclass(slots=True)
class World:
    """What a scenario is given. `plc`, `names` and `servers` are the gates through which the indexer asks.

    `ada` on the first server and `bob` on the second are there from the start and write in many scenarios.
    """

    net: Testnet
    relay: MergingRelay
    plc: Gate
    names: Gate
    servers: tuple[Gate, ...]
    data_dir: Path
    environment: dict[str, str]
    indexer: Process
    witness: Witness
    ada: Account
    bob: Account
    truth: Truth
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def person(self, name: str, pds: int = 0) -> Account:
        """Somebody new, with whom more can happen than that they write."""
        account = await self.net.pds[pds].create_account(f"{name}-{next(self._numbers)}.test")
        self.truth.watched.add(account.did)
        return account

    async def begin(self) -> None:
        """Another scenario: all is well, and those whom the last one was about are left alone from now on."""
        self.truth.watched.clear()
        await self.heal()

    async def heal(self) -> None:
        """Whatever was broken works again."""
        for gate in (self.plc, self.names, *self.servers):
            gate.faults = iter(())
        self.relay.faults.clear()
        await self.relay.stall(False)
        if not self.indexer.runs:
            await self.indexer.start()

    async def restart(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End the indexer and start it again."""
        await self.indexer.end(how)
        await self.indexer.start()

    async def settled(self) -> None:
        """Wait until the indexer has taken in all that happened before this call."""
        await self.relay.has_seen_all()
        await self._reached(self.indexer)

    async def agrees(self, *, thorough: bool = False) -> None:
        """Wait until catalogue and API say what the servers say. Raises Disagreement.

        `thorough`: the API is asked again what it has shown rightly before.
        """
        await self.settled()
        truth = await self.truth.read(thorough=thorough)
        try:
            catalogue = await oracle.agree(self.data_dir, truth, PATIENCE_SECONDS)
        except oracle.Disagreement as disagreement:
            raise oracle.Disagreement(f"{disagreement}\n{await self._account_for(truth)}") from None
        await self.witness.agrees(truth, catalogue, PATIENCE_SECONDS, thorough=thorough)

    async def _account_for(self, truth: Mapping[str, Hosted]) -> str:
        """What the servers and the catalogue say by now of the repos that differ."""
        now = await self.truth.read(thorough=True)
        catalogue = oracle.read((self.data_dir / data_folder.NEWEST_SNAPSHOT).resolve())
        lines = [
            "the servers' lists differ by now" if now != truth else "the servers' lists are the same still"
        ]
        lines += [f"by now: {difference}" for difference in oracle.differences(now, catalogue)]
        for did in {did for did in truth if any(oracle.differences({did: truth[did]}, catalogue))}:
            for pds in self.net.pds:
                for method in ("getRepoStatus", "getLatestCommit"):
                    try:
                        lines.append(
                            f"{pds.url} {method}: {await pds.get(f'com.atproto.sync.{method}', did=did)}"
                        )
                    except XrpcError as error:
                        lines.append(f"{pds.url}: {error}")
            lines.append(f"catalogue: {oracle.account_rows(self.data_dir, did)}")
        return "\n".join(lines)

    async def lose_sight(self) -> None:
        """Let the relay forget all that the indexer has not read, so that it has to look for itself."""
        await self.relay.stall()
        await self.relay.has_seen_all()
        self.relay.forget()
        await self.relay.disconnect(1012)
        await self.relay.stall(False)

    @asynccontextmanager
    async def newcomer(self, name: str) -> AsyncIterator[Process]:
        """Another install of the indexer on the same network, with nothing yet; not started."""
        async with Process(self.data_dir.parent / name, self.environment) as indexer:
            yield indexer

    async def agrees_with(self, newcomer: Process) -> None:
        """Wait until another install says the same. Raises Disagreement."""
        await self.relay.has_seen_all()
        await self._reached(newcomer)
        await oracle.agree(newcomer.data_dir, await self.truth.read(), PATIENCE_SECONDS)

    async def _reached(self, indexer: Process) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if (await indexer.health()).get("cursor") == self.relay.newest:
                    return
                await asyncio.sleep(0.02)


@asynccontextmanager
async def world(network: Network, data_dir: Path) -> AsyncIterator[World]:
    """Start all of it on a network that is running; it ends with the block."""
    async with AsyncExitStack() as stack:
        net = await stack.enter_async_context(Testnet.connect(network))
        relay = await stack.enter_async_context(MergingRelay(net))
        servers = tuple([await stack.enter_async_context(Gate(pds.url)) for pds in net.pds])
        shown = {pds.url: gate.url for pds, gate in zip(net.pds, servers, strict=True)}
        plc = await stack.enter_async_context(Gate(net.plc_url, names=shown))
        names = await stack.enter_async_context(Gate(*(pds.url for pds in net.pds)))
        port = server.free_port()
        environment = HASTE | {
            "FMSVC_RELAY": relay.url,
            "FMSVC_PLC_URL": plc.url,
            "FMSVC_HANDLE_RESOLVER": names.url,
            "FMSVC_ALLOW_LOOPBACK": "true",
            "FMSVC_PORT": str(port),
            "FMSVC_DATA_DIR": str(data_dir),
        }
        indexer = await stack.enter_async_context(Process(data_dir, environment))
        await indexer.start()
        ada = await net.pds[0].create_account("ada-regular.test")
        bob = await net.pds[1].create_account("bob-regular.test")
        await stack.enter_async_context(server.running_server(environment, "snapshots"))
        api = await stack.enter_async_context(server.running_server(environment, "api"))
        witness, truth = Witness(api), Truth(net)
        yield World(net, relay, plc, names, servers, data_dir, environment, indexer, witness, ada, bob, truth)
