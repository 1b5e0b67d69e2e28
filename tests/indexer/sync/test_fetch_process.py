"""Repos are fetched in a process of its own as they are in the indexer's, and its death costs one attempt."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from indexer.network.http.client import Answered, Outbound, Unreachable
from indexer.network.identity.dns import Dns
from indexer.network.xrpc import RepoGone
from indexer.repo import signing_keys
from indexer.repo.extract import Fetched
from indexer.repo.verify import Refused
from indexer.sync import fetch as repos
from indexer.sync import fetch_process
from indexer.sync.fetch_process import FetchProcess
from indexer.sync.fetch_worker import Task
from indexer.sync.spool import Spools
from schemas.collections import Collections
from schemas.ids import Did
from schemas.settings import Settings
from tests import documents
from tests.indexer.running import following, until
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.relay import Relay

OURS = Collections()


class Hosts:
    """The hosts whose `Date` was heard."""

    def __init__(self) -> None:
        self.names: set[str | None] = set()

    def __call__(self, host: str | None, date: str | None) -> None:
        if date:
            self.names.add(host)


@pytest.fixture
async def process(tmp_path: Path) -> AsyncIterator[FetchProcess]:
    found = FetchProcess(Task(OURS.all, tmp_path, allow_loopback=True), Hosts())
    yield found
    await found.close()


def filled() -> ForgedRepo:
    forged = ForgedRepo(seed="repo")
    for number in range(40):
        forged.create(OURS.like, {"n": number})
    forged.commit_frame(1)
    return forged


async def fetched_by(process: FetchProcess, url: str, forged: ForgedRepo, key: str | None = None) -> Fetched:
    async with asyncio.timeout(20):
        return await process.fetch(url, Did(forged.did), signing_keys.parse_key(key or forged.key.multibase))


async def test_the_result_and_the_refusals_are_those_of_fetch_repo(
    process: FetchProcess, tmp_path: Path
) -> None:
    """Errors keep their attributes, which decide when a repo is tried again."""
    forged, other = filled(), ForgedRepo(seed="another")
    key = signing_keys.parse_key(forged.key.multibase)
    async with ForgedNetwork([forged]) as net, Outbound(Dns(), allow_loopback=True) as outbound:
        expected = await repos.fetch_repo(
            outbound, net.url, Did(forged.did), key, OURS.all, datetime.now(UTC), spools=Spools(tmp_path)
        )
        assert await fetched_by(process, net.url, forged) == expected
        with pytest.raises(Refused) as refused:
            await fetched_by(process, net.url, forged, other.key.multibase)
        assert refused.value.check == "signature"
        with pytest.raises((RepoGone, Answered)):
            await fetched_by(process, net.url, other)
    assert len(expected.records) == 40


async def test_when_the_process_dies_its_fetches_are_tried_again_by_another(process: FetchProcess) -> None:
    forged = filled()
    async with ForgedNetwork([forged]) as net, asyncio.timeout(30):
        await fetched_by(process, net.url, forged)
        first = process.pid
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        fetching = asyncio.create_task(fetched_by(process, net.url, forged))
        await asyncio.sleep(0.05)
        os.kill(first, signal.SIGKILL)
        with pytest.raises(Unreachable, match="code -9") as refused:
            await fetching
        assert refused.value.transient
        assert len((await fetched_by(process, net.url, forged)).records) == 40
        assert process.pid != first


async def test_the_process_ends_when_its_input_does(
    process: FetchProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it ends with the indexer, however that ends; and after a while without work."""
    monkeypatch.setattr(fetch_process, "IDLE_SECONDS", 0.05)
    forged = filled()
    async with ForgedNetwork([forged]) as net, asyncio.timeout(30):
        await fetched_by(process, net.url, forged)
        number = process.pid
        assert number is not None
        while Path(f"/proc/{number}").exists():  # noqa: ASYNC110  # another process's doing
            await asyncio.sleep(0.02)
        assert process.pid is None


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core fetches in the indexer")
async def test_an_indexer_is_complete_though_its_process_was_killed(
    impatient_settings: Settings, forged_network: ForgedNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repos that were being fetched are fetched again; no process is left when the indexer ends."""
    monkeypatch.setattr(fetch_process, "MANY_REPOS", 0)
    people = [ForgedRepo(seed=f"person {number}") for number in range(12)]
    frames = []
    for seq, person in enumerate(people, 1):
        forged_network.add(person)
        for _ in range(2):  # the relay has only the second commit
            person.create(OURS.track, documents.least("track"))
            frame = person.commit_frame(seq)
        frames.append(frame)
    async with Relay(frames[:6]) as relay, following(impatient_settings, relay) as indexer:
        process = indexer.indexer._fetch_process
        await until(lambda: process.pid)
        first = process.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await relay.send(*frames[6:])
        await indexer.reach(12)
        second = process.pid

        assert indexer.rows("select count(*) from tracks") == [(24,)]
        assert second not in (None, first)
    assert not Path(f"/proc/{second}").exists()


async def test_few_repos_need_no_process(process: FetchProcess) -> None:
    assert not process.is_worth_it(fetch_process.MANY_REPOS - 1)
