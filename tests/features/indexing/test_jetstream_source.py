"""An indexer on a Jetstream: at once what it says, then what the repos themselves prove."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import repeat
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from indexer import service
from indexer.service import Indexer
from indexer.stream import select
from schemas.ids import Did
from schemas.settings import Settings
from tests import documents
from tests.indexer.running import running, until
from tests.network import meddling
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.gate import Gate
from tests.network.jetstream import JetstreamDouble
from tests.network.pds import Account
from tests.network.relay import PATH, Refuse, Relay
from tests.network.testnet import Testnet

TRACK = "fm.svc.track"
CHANGES = 30
START = datetime.now(UTC) - timedelta(hours=1)
ROWS = "select rkey, state, verified from tracks order by rkey"


@pytest.fixture
def ana() -> ForgedRepo:
    return ForgedRepo(seed="ana", start=START)


@pytest.fixture
async def forged(ana: ForgedRepo) -> AsyncIterator[ForgedNetwork]:
    async with ForgedNetwork([ana]) as forged:
        yield forged


@pytest.fixture
def configured(tmp_path: Path, forged: ForgedNetwork) -> Settings:
    return Settings(
        data_dir=tmp_path,
        relay=forged.url.replace("http", "ws"),
        plc_url=forged.url,
        handle_resolver=forged.url,
        allow_loopback=True,
        batch_seconds=0.02,
        retry_seconds=0.1,
    )


@contextlib.asynccontextmanager
async def following(configured: Settings, host: JetstreamDouble, **fields: str) -> AsyncIterator[Indexer]:
    settings = configured.model_copy(update={"jetstream": host.url, **fields})
    source = select.choose_source(settings, settings.collections.all)
    async with service.open_indexer(settings, source) as indexer:
        stop = asyncio.Event()
        task = asyncio.create_task(indexer.run(stop))
        yield indexer
        stop.set()
        await task


@contextlib.asynccontextmanager
async def overheard(account: Account) -> AsyncIterator[AsyncIterator[bytes]]:
    """The commits of one account, as its server tells of them."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{account.pds.relay_url}{PATH}?cursor=0") as stream,
    ):
        read = ((frame.data, meddling.read("", frame.data)) async for frame in stream)
        yield (raw async for raw, said in read if said and (said.did, said.kind) == (account.did, "#commit"))


def rows(indexer: Indexer, query: str = ROWS) -> list[tuple[Any, ...]]:
    return indexer.stores.writer.reader().execute(query).fetchall()


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.slow
async def test_records_are_shown_at_once_and_proven_later(
    configured: Settings, forged: ForgedNetwork, ana: ForgedRepo, version: str
) -> None:
    """While the account's server is down they are marked unverified; its repo then upgrades them."""
    forged.faults |= {method: repeat(Refuse(503)) for method in ("getRepo", "getRecord", "getBlocks")}
    one = ana.create(TRACK, documents.least("track"))
    async with (
        JetstreamDouble([ana.commit_frame(1)]) as host,
        following(configured, host, jetstream_version=version) as indexer,
    ):
        await until(lambda: rows(indexer) == [(one.rkey, "live", "unverified")])
        forged.faults.clear()

        await until(lambda: rows(indexer) == [(one.rkey, "live", "repo")])
        two = ana.create(TRACK, documents.least("track"))
        ana.delete(TRACK, one.rkey)
        await host.hear(ana.commit_frame(2))

        await until(lambda: [row[:2] for row in rows(indexer)] == [(one.rkey, "deleted"), (two.rkey, "live")])
        await until(lambda: rows(indexer)[1][2] == "repo")


async def test_a_relay_in_its_place_goes_on_from_what_is_known(configured: Settings, ana: ForgedRepo) -> None:
    """Each source has a cursor of its own, and a repo in step chains on."""
    ana.create(TRACK, documents.least("track"))
    first = ana.commit_frame(1)
    async with JetstreamDouble([first]) as host, following(configured, host) as indexer:
        await until(lambda: [row[2] for row in rows(indexer)] == ["repo"])
    ana.create(TRACK, documents.least("track"))
    async with (
        Relay([first, ana.commit_frame(2)]) as relay,
        running(configured.model_copy(update={"relay": relay.url})) as indexer,
    ):
        await indexer.reach(2)
        ways = [row[2] for row in indexer.rows(ROWS)]
        cursors = dict(indexer.rows("select source, seq from cursors"))

    assert ways == ["repo", "commit"]
    assert cursors[relay.url] == 2
    assert len(cursors) == 2


async def test_what_does_not_match_its_cid_is_a_dead_letter(configured: Settings, ana: ForgedRepo) -> None:
    """And its repo is fetched, so that nothing is missing."""
    written = ana.create(TRACK, documents.least("track"))
    host = JetstreamDouble([ana.commit_frame(1)])
    message = host.messages[0]
    assert message.first is not None
    forged = message.first.replace(b'"title":"', b'"title":"Forged ')
    host.messages[0] = type(message)(message.at, message.collection, forged, message.second)
    async with host, following(configured, host) as indexer:
        await until(lambda: rows(indexer) == [(written.rkey, "live", "repo")])

        reasons = rows(indexer, "select reason from dead_letters")
        assert reasons == [("the record does not match its CID",)]


@pytest.mark.network
@pytest.mark.slow
async def test_a_burst_of_changes_is_proven_by_few_fetches(configured: Settings, net: Testnet) -> None:
    """From a real server: each change is shown at once, and all of them are proven in the end."""
    pds = net.pds[0]
    carol = await pds.create_account("in-a-hurry.test")
    async with (
        Gate(pds.url) as server,
        Gate(net.plc_url, names={pds.url: server.url}) as plc,
        JetstreamDouble() as host,
        overheard(carol) as frames,
    ):
        # Between two fetches: with that of a second, a busy machine would make more of them than this allows.
        update = {"plc_url": plc.url, "handle_resolver": pds.url, "retry_seconds": 4.0}
        async with following(configured.model_copy(update=update), host) as indexer:
            await anext(frames)  # its empty beginning
            for number in range(1, CHANGES + 1):
                await carol.create_record(TRACK, documents.least("track"))
                await host.hear(await anext(frames))
                await until(lambda number=number: len(rows(indexer)) == number)
                # No change comes while the repo is on its way, and goes along with that.
                await until(lambda: indexer.repos[Did(carol.did)].state != "resyncing")

            await until(lambda: {row[2] for row in rows(indexer)} == {"repo"})

    assert server.asked["getRecord"] <= CHANGES // 3
