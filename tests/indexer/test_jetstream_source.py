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
from indexer.sources import choice
from schemas.settings import Settings
from tests import documents
from tests.indexer.running import running, until
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.jetstream import JetstreamDouble
from tests.network.relay import Refuse, Relay

TRACK = "fm.svc.track"
START = datetime.now(UTC) - timedelta(hours=1)
ROWS = "select rkey, state, verified from tracks order by rkey"


@pytest.fixture
def ana() -> ForgedRepo:
    return ForgedRepo(seed="ana", start=START)


@pytest.fixture
async def network(ana: ForgedRepo) -> AsyncIterator[ForgedNetwork]:
    async with ForgedNetwork([ana]) as network:
        yield network


@pytest.fixture
def configured(tmp_path: Path, network: ForgedNetwork) -> Settings:
    return Settings(
        data_dir=tmp_path,
        relay=network.url.replace("http", "ws"),
        plc_url=network.url,
        handle_resolver=network.url,
        allow_loopback=True,
        batch_seconds=0.02,
        retry_seconds=0.1,
    )


@contextlib.asynccontextmanager
async def following(configured: Settings, host: JetstreamDouble, **fields: str) -> AsyncIterator[Indexer]:
    settings = configured.model_copy(update={"jetstream": host.url, **fields})
    async with (
        aiohttp.ClientSession() as session,
        service.opened(settings, choice.choose(settings, session)) as indexer,
    ):
        stop = asyncio.Event()
        task = asyncio.create_task(indexer.run(stop))
        yield indexer
        stop.set()
        await task


def rows(indexer: Indexer, query: str = ROWS) -> list[tuple[Any, ...]]:
    return indexer.stores.writer.reader().execute(query).fetchall()


@pytest.mark.parametrize("version", ["1", "2"])
async def test_records_are_shown_at_once_and_proven_later(
    configured: Settings, network: ForgedNetwork, ana: ForgedRepo, version: str
) -> None:
    """While the account's server is down they are marked unverified; its repo then upgrades them."""
    network.faults |= {method: repeat(Refuse(503)) for method in ("getRepo", "getRecord", "getBlocks")}
    one = ana.create(TRACK, documents.least("track"))
    async with (
        JetstreamDouble([ana.commit_frame(1)]) as host,
        following(configured, host, jetstream_version=version) as indexer,
    ):
        await until(lambda: rows(indexer) == [(one.rkey, "live", "unverified")])
        network.faults.clear()

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
