"""Discovery finds every account that has records of ours, whatever interrupts it, and looks again daily."""

import asyncio
import itertools
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import orjson
import pytest
from aiohttp import web

from indexer.catalog.tables.cursors import ListProgress
from indexer.network.http.client import Answered, Outbound, OutboundError
from indexer.network.identity.dns import Dns
from indexer.sync import discovery as repo_discovery
from indexer.sync.discovery import EVERYTHING, Discovery
from schemas.collections import Collections
from schemas.ids import Did
from tests.indexer.running import until
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.relay import Refuse
from tests.network.scripted_pds import ScriptedPds
from tests.network.testnet import Testnet

OURS = Collections()
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Notes:
    """What a discovery found, and how far it says it has come; `now` passes when told."""

    def __init__(self) -> None:
        self.found: list[Did] = []
        self.saved: dict[str, ListProgress] = {}
        self.now = NOW
        self.pages_until_killed = -1

    async def find(self, dids: list[Did]) -> None:
        if self.pages_until_killed == 0:
            raise asyncio.CancelledError
        self.pages_until_killed -= 1
        self.found += dids

    async def save(self, listing: ListProgress) -> None:
        self.saved[listing.collection] = listing

    @asynccontextmanager
    async def discovery(self, host: str) -> AsyncIterator[Discovery]:
        """One that goes on from here."""
        async with Outbound(Dns(), allow_loopback=True) as outbound:
            yield Discovery(
                outbound,
                host,
                OURS.all,
                found=self.find,
                load=self.saved.values,
                save=self.save,
                now=lambda: self.now,
            )

    async def read(self, host: str) -> None:
        async with self.discovery(host) as discovery:
            await discovery.read()


@pytest.fixture
def notes() -> Notes:
    return Notes()


def repos(count: int, collections: Iterable[str] = (OURS.like,)) -> list[ForgedRepo]:
    """Accounts that have a record each, of these collections in turn."""
    made = []
    for number, name in zip(range(count), itertools.cycle(collections), strict=False):
        made.append(ForgedRepo(seed=f"{name} {number}"))
        made[-1].create(name, {"n": number})
        made[-1].commit_frame(1)
    return made


async def test_all_collections_are_asked_for(notes: Notes) -> None:
    """Accounts without any record of ours are not found."""
    ours, others = repos(10, sorted(OURS.all)), repos(5, ["app.bsky.feed.post", "fm.svc.dev.track"])
    async with ForgedNetwork([*ours, *others]) as net:
        await notes.read(net.url)

        assert sorted(notes.found) == sorted(repo.did for repo in ours)
        assert notes.saved == {name: ListProgress(net.url, name, None, NOW) for name in OURS.all}


async def test_a_list_that_breaks_its_reader_is_read_again(notes: Notes) -> None:
    """Whatever no code foresaw: the process goes on, and so does discovery."""
    taken, broke, ours = notes.find, asyncio.Event(), repos(3, sorted(OURS.all))

    async def find(dids: list[Did]) -> None:
        if not broke.is_set():
            broke.set()
            raise ValueError("nobody thought of this")
        await taken(dids)

    notes.find = find  # type: ignore[method-assign]
    async with ForgedNetwork(ours) as net, notes.discovery(net.url) as discovery:
        reading = asyncio.create_task(discovery.run())
        await broke.wait()
        discovery.renew()  # as a gap in the stream does, instead of the pause
        await until(lambda: discovery.reading is None or reading.done())
        goes_on = not reading.done()
        reading.cancel()

    assert goes_on
    assert sorted(notes.found) == sorted(repo.did for repo in ours)


def serving_lists(count: int) -> ScriptedPds:
    """A host whose list of repos has so many pages of one account, whatever the collection."""

    async def answer(request: web.Request) -> web.Response:
        number = int(request.query.get("cursor", 0))
        more = {"cursor": str(number + 1)} if number + 1 < count else {}
        return web.json_response({"repos": [{"did": f"did:web:{number}.example.com"}], **more})

    return ScriptedPds({"com.atproto.sync.listReposByCollection": answer})


@pytest.mark.parametrize("pages", range(8))
async def test_a_kill_between_any_two_pages_skips_none(notes: Notes, pages: int) -> None:
    notes.pages_until_killed = pages
    async with serving_lists(3) as server:
        with pytest.raises(asyncio.CancelledError):
            await notes.read(server.url)
        notes.pages_until_killed = -1
        await notes.read(server.url)

    assert len(notes.found) == 3 * len(OURS.all)
    assert len(server.asked) == 3 * len(OURS.all) + 1


async def test_a_list_is_read_again_after_a_day(notes: Notes) -> None:
    [first, second] = repos(2)
    async with ForgedNetwork([first]) as net:
        await notes.read(net.url)
        net.add(second)
        notes.now += timedelta(hours=23)
        await notes.read(net.url)
        assert notes.found == [first.did]

        notes.now += timedelta(hours=1)
        await notes.read(net.url)

    assert sorted(notes.found) == sorted([first.did, first.did, second.did])


@pytest.mark.parametrize("status", [404, 501])
async def test_a_server_without_lists_by_collection_lists_everything(notes: Notes, status: int) -> None:
    """Then somebody has to look into each repo; and the next day the host may have learnt."""
    [repo] = repos(1, ["app.bsky.feed.post"])
    async with ForgedNetwork([repo]) as net:
        net.faults["listReposByCollection"] = iter([Refuse(status)])
        await notes.read(net.url)
        await notes.read(net.url)

        assert notes.found == [repo.did]
        assert notes.saved == {EVERYTHING: ListProgress(net.url, EVERYTHING, None, NOW)}
        assert net.asked == {"listReposByCollection": 1, "describeServer": 1, "listRepos": 1}

        notes.now += timedelta(days=1)
        await notes.read(net.url)
        assert notes.saved.keys() > OURS.all


@pytest.mark.parametrize("status", [400, 404, 501])
async def test_a_relay_is_never_asked_for_everything(notes: Notes, status: int) -> None:
    """It keeps no accounts, and everything there is the whole network. An odd answer of it is a failure."""
    async with ForgedNetwork(repos(1)) as net:
        net.missing.add("describeServer")
        net.faults["listReposByCollection"] = iter([Refuse(status)])

        with pytest.raises(Answered, match=str(status)):
            await notes.read(net.url)
        assert notes.found == []
        assert net.asked["listRepos"] == 0

        await notes.read(net.url)
        assert len(notes.found) == 1


async def test_a_failure_leaves_what_was_read(notes: Notes) -> None:
    """A host that is down, or busy, is no host without lists."""
    async with ForgedNetwork(repos(1)) as net:
        net.faults["listReposByCollection"] = iter([None, Refuse(503)])

        with pytest.raises(Answered):
            await notes.read(net.url)

    assert len(notes.saved) == 1
    assert net.asked["listRepos"] == 0


async def test_a_cursor_that_the_host_forgot_begins_anew(notes: Notes) -> None:
    name = min(OURS.all)
    async with ForgedNetwork(repos(1)) as net:
        notes.saved[name] = ListProgress(net.url, name, "stale", None)
        net.faults["listReposByCollection"] = iter([Refuse(400)])

        await notes.read(net.url)

    assert len(notes.found) == 1
    assert net.asked["listReposByCollection"] == len(OURS.all) + 1


@pytest.mark.parametrize(
    "page",
    [
        {},
        {"repos": None, "cursor": 7},
        {"repos": [None, 7, {}, {"did": 7}, {"did": "alice.example.com"}, {"did": "did:x:" + "y" * 3000}]},
        {"repos": [], "cursor": "x" * 5000},
        {"repos": [{"did": "did:web:a.example.com", "status": "deleted"}], "cursor": ""},
    ],
)
async def test_nonsense_in_a_page_is_passed_over(notes: Notes, page: dict[str, object]) -> None:
    async with answering(orjson.dumps(page)) as host:
        await notes.read(host.url)

    assert notes.found == []
    assert all(listing.finished_at == NOW for listing in notes.saved.values())


async def test_a_host_that_repeats_a_page_does_not_keep_us(notes: Notes) -> None:
    async with answering(b'{"repos": [{"did": "did:web:a.example.com"}], "cursor": "same"}') as host:
        await notes.read(host.url)

    assert set(notes.found) == {"did:web:a.example.com"}


async def test_a_page_that_is_no_page_is_an_error(notes: Notes) -> None:
    async with answering(b"<html>") as host:
        with pytest.raises(OutboundError):
            await notes.read(host.url)


def answering(body: bytes) -> ScriptedPds:
    """A host that says the same whatever it is asked."""
    return ScriptedPds(defaultdict(lambda: body))


async def test_it_goes_on_after_a_failure(notes: Notes) -> None:
    """When the host said; and says meanwhile what it is reading."""
    async with ForgedNetwork(repos(1)) as net, notes.discovery(net.url) as discovery:
        net.faults["listReposByCollection"] = iter([None, Refuse(429, retry_after="0")])
        assert discovery.reading == min(OURS.all)
        running = asyncio.create_task(discovery.run())

        await until(lambda: len(notes.saved) == len(OURS.all))
        running.cancel()

    assert discovery.reading is None
    assert discovery.listed == 1


@pytest.mark.parametrize("steps", range(6))
async def test_it_ends_when_it_is_cancelled_as_its_lists_become_due(notes: Notes, steps: int) -> None:
    """So many steps of the event loop later: in one, asyncio.wait_for of Python 3.11 loses a cancellation."""
    async with ForgedNetwork(repos(1)) as net, notes.discovery(net.url) as discovery:
        running = asyncio.create_task(discovery.run())
        await until(lambda: discovery.reading is None)
        for _ in range(10):
            await asyncio.sleep(0)  # until it waits
        discovery.renew()
        for _ in range(steps):
            await asyncio.sleep(0)
        running.cancel()

        await until(running.done)


def test_pauses_double_up_to_the_longest() -> None:
    assert 2.5 <= repo_discovery._pause(Answered(503, b""), 1) <= 5
    assert 450 <= repo_discovery._pause(Answered(503, b""), 99) <= 900
    assert repo_discovery._pause(Answered(429, b"", 60), 1) == 60
    assert repo_discovery._pause(Answered(429, b"", 1e9), 1) == 900


@pytest.mark.network
async def test_a_real_server_lists_its_repos(notes: Notes, net: Testnet) -> None:
    """A PDS has no lists by collection, and says that it keeps accounts."""
    accounts = [await net.pds[0].create_account(f"listed-{number}.test") for number in range(3)]

    await notes.read(net.pds[0].url)

    assert {account.did for account in accounts} <= set(notes.found)
    assert notes.saved.keys() == {EVERYTHING}
