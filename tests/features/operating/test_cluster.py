"""More than one machine: two indexers, machines that follow them through S3, and whatever dies or sleeps.

The processes are those that an operator runs, with a data folder each. `CLUSTER_NODES` is how many machines
serve the API; with more than one, they share a state database, audio and limits, the store has three volume
servers, and more of all this fails.
"""

import asyncio
import base64
import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from indexer.replication.manifest import Manifest, manifest_key
from indexer.replication.objects import Objects
from indexer.replication.publish.publisher import NODE_FILE
from readapi.index.indexer_client import Proofs
from schemas import control_socket, data_folder
from schemas.ids import AtUri
from tests.features.operating.cluster_artist import ClusterArtist, cluster_artist
from tests.indexer.replication.origin import current
from tests.network import server
from tests.network.pds import Account, Ref
from tests.network.server import Server, running_server
from tests.network.testnet import Testnet
from tests.patience import PATIENCE_SECONDS
from tests.postgres import Postgres, new_database, running_postgres
from tests.promises.stage import COLLECTIONS, track
from tests.seaweedfs import prefix_url, running_replicated_seaweedfs
from tests.valkey import running_valkey

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(600)]

NODES = int(os.environ.get("CLUSTER_NODES", "1"))
LEASE_SECONDS = "3"
STOPPED_SECONDS = 0 if NODES == 1 else 60  # for which the holder of the lease is stopped, at least
AWAY_SECONDS = 3.0  # for which PostgreSQL is stopped
SAME = ("/tracks/?limit=50", "/tracks/tags", "/search/?q=Harbour", "/stats", "/tracks/top?limit=5")


@dataclass(slots=True)
class Machine:
    """A data folder, and the process that keeps it."""

    folder: Path
    variables: dict[str, str]
    process: asyncio.subprocess.Process

    @property
    def name(self) -> str:
        """Under which its indexer publishes."""
        return (self.folder / NODE_FILE).read_text()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


@dataclass(slots=True)
class Cluster:
    """Two indexers, the APIs of the machines that follow them, and an artist who uses these."""

    objects: Objects
    person: Account
    indexers: list[Machine]
    followers: list[Machine]
    apis: list[Server]
    artist: ClusterArtist
    written: list[tuple[str, Ref]] = field(default_factory=list)
    failed: list[Any] = field(default_factory=list)

    async def write(self, title: str) -> Ref:
        """Write a track to its author's server."""
        ref = await self.person.create_record(COLLECTIONS.track, track(title))
        self.written.append((title, ref))
        return ref

    async def shown(self, title: str) -> None:
        """Wait until every machine finds a track."""
        for api in self.apis:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while title not in await self._titles(api, title):  # noqa: ASYNC110  # another process answers
                    await asyncio.sleep(0.05)

    async def holder(self) -> Machine:
        """The indexer that is shown."""
        node = (await current(self.objects)).node
        return next(machine for machine in self.indexers if machine.name == node)

    async def watch(self) -> None:
        """Ask again and again for what was shown once: it stays, on every machine, whatever happens."""
        shown: set[tuple[str, str]] = set()
        while True:
            for api in self.apis:
                titles = await self._titles(api, "Harbour")
                self.failed += [
                    missing for missing in shown if missing[0] == api.url and missing[1] not in titles
                ]
                shown |= {(api.url, title) for title in titles}
            await asyncio.sleep(0.02)

    async def _titles(self, api: Server, text: str) -> set[str]:
        status, answer = await api.ask("/search/", q=text, type="tracks", limit=50)
        if status != 200:
            self.failed.append((api.url, status, answer))
            return set()
        return {result["title"] for result in answer["results"]}


@asynccontextmanager
async def running_cluster(
    net: Testnet, url: str, folder: Path, shared: dict[str, str]
) -> AsyncIterator[Cluster]:
    """Start everything, and wait until each machine is ready."""
    common = {
        "FMSVC_PUBLISH_URL": url,
        "FMSVC_CLUSTER_KEY": uuid.uuid4().hex,
        "FMSVC_LEASE_SECONDS": LEASE_SECONDS,
        "FMSVC_PUBLIC_URL": "http://fmsvc.test",
        "FMSVC_LOG_LEVEL": "warning",
        "FMSVC_RATE_LIMIT": "1000000/minute",
        "FMSVC_AUTH_RATE_LIMIT": "1000000/minute",
        "FMSVC_SECRET_KEYS": base64.b64encode(os.urandom(32)).decode(),
        "FMSVC_CLAIM_SECONDS": "2",
        "FMSVC_SHOWN_SECONDS": "2",  # as by default: a stopped holder answers no nudge
        **shared,
    }
    async with AsyncExitStack() as stack:

        async def start(name: str, command: str, **more: str) -> tuple[Machine, Server]:
            variables = server.settings(net, folder / name, server.free_port()) | common | more
            running = await stack.enter_async_context(running_server(variables, command))
            return Machine(folder / name, variables, running.process), running

        indexers = [
            (await start(name, "index", FMSVC_NUDGE_URL=f"http://127.0.0.1:{server.free_port()}"))[0]
            for name in ("a", "b")
        ]
        nodes = [f"node-{number}" for number in range(NODES)]
        followers = [(await start(name, "follow"))[0] for name in nodes]
        for name in nodes:
            await start(name, "snapshots")
        apis = [(await start(name, "api"))[1] for name in nodes]
        for name in nodes:
            await start(name, "work")
        names = [f"{who}-{uuid.uuid4().hex[:8]}.test" for who in ("cluster", "mara")]
        person, musician = [await net.pds[0].create_account(name) for name in names]
        for api in apis:
            await answers(api, "/ready", 200)
        signing_in = cluster_artist(musician, [api.url for api in apis], followers[0].variables, folder)
        artist = await stack.enter_async_context(signing_in)
        yield Cluster(Objects.open(url), person, indexers, followers, apis, artist)


async def answers(api: Server, path: str, expected: int) -> Any:
    """Wait for an answer of this status."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            status, answer = await api.ask(path)
            if status == expected:
                return answer
            await asyncio.sleep(0.05)


async def same_answers(one: Server, other: Server) -> None:
    """Wait until both answer every request of SAME alike, byte by byte as far as JSON goes."""
    for path in SAME:
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            first, second = await one.ask(path), await other.ask(path)
            if first == second and first[0] == 200:
                break
            assert time.monotonic() < until, (path, first, second)
            await asyncio.sleep(0.05)


@dataclass(slots=True)
class Surroundings:
    """What the machines share: the store's address; with several machines, what may fail of it as well."""

    url: str
    variables: dict[str, str] = field(default_factory=dict)
    volume_server: subprocess.Popen[bytes] | None = None
    postgres: Postgres | None = None


@pytest.fixture
async def surroundings(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Surroundings]:
    """An object store; for several machines PostgreSQL and Valkey too."""
    prefix = uuid.uuid4().hex
    if NODES == 1:
        yield Surroundings(prefix_url(request.getfixturevalue("seaweedfs"), prefix))
        return
    (tmp_path / "seaweedfs").mkdir()
    with (
        running_replicated_seaweedfs(tmp_path / "seaweedfs") as (address, volume_server),
        running_postgres() as postgres,
        running_valkey(tmp_path) as limits,
    ):
        variables = {
            "FMSVC_STATE_URL": await new_database(postgres.address, prefix),
            "FMSVC_LIMITS_URL": limits,
            "FMSVC_AUDIO_URL": prefix_url(address, f"audio-{prefix}"),
        }
        yield Surroundings(prefix_url(address, prefix), variables, volume_server, postgres)


async def test_what_is_shown_stays_right_whoever_dies_or_sleeps(
    net: Testnet, surroundings: Surroundings, tmp_path: Path
) -> None:
    """What machines that follow answer is right, and each write shown; sessions hold; jobs are done once."""
    async with running_cluster(net, surroundings.url, tmp_path, surroundings.variables) as cluster:
        await cluster.write("Harbour one")
        await cluster.shown("Harbour one")
        watching = [asyncio.create_task(one.watch()) for one in (cluster, cluster.artist)]
        await check_equal_to_origin(cluster)
        await check_nudge_and_proof(cluster)

        slept = await cluster.holder()
        before = await current(cluster.objects)
        slept.signal(signal.SIGSTOP)
        await cluster.artist.begin_job()
        await cluster.write("Harbour two")
        await asyncio.gather(cluster.shown("Harbour two"), cluster.artist.sign_in())
        assert (await cluster.holder()) is not slept
        await asyncio.sleep(STOPPED_SECONDS)
        after = await current(cluster.objects)
        assert after.epoch > before.epoch
        slept.signal(signal.SIGCONT)
        await check_that_it_is_a_standby(cluster, slept, after)

        dead = await cluster.holder()
        dead.signal(signal.SIGKILL)
        await cluster.write("Harbour three")
        await cluster.shown("Harbour three")
        assert (await cluster.holder()) is slept

        job = await cluster.artist.begin_job()
        for process in (cluster.followers[0].process.pid, await cluster.artist.worker_of(job)):
            os.kill(process, signal.SIGKILL)
        await cluster.write("Harbour four")
        port = {"FMSVC_PORT": str(server.free_port())}
        async with running_server(cluster.followers[0].variables | port, "serve", "--follow") as again:
            await cluster.shown("Harbour four")
            await answers(again, "/ready", 200)
            await check_that_the_surroundings_may_fail(cluster, surroundings)
            await cluster.artist.jobs_are_done_once()
        for task in watching:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    assert (cluster.failed, cluster.artist.failed) == ([], [])


async def check_equal_to_origin(cluster: Cluster) -> None:
    """A worker on the holder's own data folder, and one on a machine that follows, answer alike."""
    holder = await cluster.holder()
    port = {"FMSVC_PORT": str(server.free_port())}
    async with (
        running_server(holder.variables, "snapshots"),
        running_server(holder.variables | port, "api") as own,
    ):
        await answers(own, "/ready", 200)
        for api in cluster.apis:
            await same_answers(own, api)
    async with cluster.apis[0].session.get(cluster.apis[0].url + "/tracks/") as answer:
        assert 0 <= float(answer.headers["X-Index-Lag"]) < PATIENCE_SECONDS
    status, metrics = await cluster.apis[0].ask("/metrics")
    assert status == 200
    assert "fmsvc_followed_states_total" in metrics


async def check_nudge_and_proof(cluster: Cluster) -> None:
    """A machine that follows has a write shown at once, and proves a record."""
    ref = await cluster.write("Harbour nudged")
    folder = cluster.followers[0].folder
    answer = await control_socket.ask(
        folder / data_folder.CONTROL_SOCKET,
        "POST",
        control_socket.NUDGE,
        seconds=PATIENCE_SECONDS,
        body=control_socket.encode_uri(AtUri.parse(ref.uri)),
    )
    assert answer.status == 200
    await cluster.shown("Harbour nudged")
    assert await Proofs(folder).fetch(ref.uri)


async def check_that_it_is_a_standby(cluster: Cluster, woken: Machine, taken: Manifest) -> None:
    """It publishes again, for itself alone; what is shown stays the other's, in its epoch or a later one."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            shown = await current(cluster.objects)
            assert (shown.node, shown.epoch) == (taken.node, taken.epoch)
            found = await cluster.objects.find(manifest_key(woken.name))
            own = Manifest.model_validate_json(found.content) if found else None
            if own is not None and own.at > taken.at and own.epoch == taken.epoch:
                return
            await asyncio.sleep(0.05)


async def check_that_the_surroundings_may_fail(cluster: Cluster, surroundings: Surroundings) -> None:
    """A volume server of the store dies, and the state database is away: what is asked of them is done."""
    if surroundings.volume_server is not None:
        await cluster.artist.begin_job(1)
        surroundings.volume_server.kill()
        await cluster.write("Harbour five")
        await asyncio.gather(cluster.shown("Harbour five"), cluster.artist.sign_in())
    if surroundings.postgres is not None:
        await check_that_the_state_may_be_away(cluster.artist, surroundings.postgres)
        await cluster.write("Harbour six")
        await cluster.shown("Harbour six")
        for api in cluster.apis:
            await is_played(api)


async def check_that_the_state_may_be_away(artist: ClusterArtist, postgres: Postgres) -> None:
    """PostgreSQL is stopped during two jobs and a sign-in: afterwards all of them come to their ends."""
    back = await artist.agree(1)
    await artist.expire()
    await artist.worker_of(await artist.begin_job(2))
    artist.is_state_away = True
    await asyncio.to_thread(postgres.stop)
    asking = asyncio.create_task(artist.begin_job())
    await asyncio.sleep(AWAY_SECONDS)
    await asyncio.to_thread(postgres.start)
    await artist.state_is_back()
    await asking
    await artist.come_back(back, 2)
    for at in range(NODES):
        await artist.sign_in(at)


async def is_played(api: Server) -> None:
    """Wait until a machine counts a play, which the state database keeps."""
    _, found = await api.ask("/search/", q="Harbour six", type="tracks")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async with api.session.post(f"{api.url}/tracks/{found['results'][0]['id']}/play") as answer:
                if answer.ok:
                    return
            await asyncio.sleep(0.05)
