"""GET /live: every change once and in order, by both protocols, whichever end is killed.

LIVE_KILLS sets how often one is (12; make test-long 200).
"""

import asyncio
import os
import random
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import orjson
import pytest
import pytest_asyncio
import websockets
from aiohttp_sse_client2.client import EventSource
from httpx_sse import aconnect_sse

from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from readapi.http import server
from readapi.http.server import ConnectionTimeouts
from readapi.live.log_reader import LogReader
from readapi.state.state import open_state
from schemas import change_log, data_folder
from schemas.labels import Label
from schemas.settings import Settings
from tests.indexer.catalog.published.test_change_files import endless
from tests.indexer.changes import comment, delete, did, like, put, uri
from tests.indexer.killing import children
from tests.indexer.running import until
from tests.network.testnet import NODE
from tests.readapi.live.test_log_reader import log_changes
from tests.readapi.music import NOWHERE, PICTURE, UNLIMITED, Music, playing
from tests.readapi.serving import serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

KILLS = int(os.environ.get("LIVE_KILLS", "12"))
TRACK = uri("mara", "track", 2)
LABELLED, LATER = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
CONSUMERS = Path(__file__).parents[2] / "consumers"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def busy(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Music]:
    """A worker whose clients may be many."""
    folder = tmp_path_factory.mktemp("live")
    async with playing(folder, live_clients_of_one=60, live_clients=100) as served:
        yield served


class Listener:
    """A client of one protocol; `heard` is what it was told."""

    def __init__(self, music: Music, query: str = "") -> None:
        self.address = f"{music.address}/live{query}"
        self.heard: list[dict[str, Any]] = []
        self._task = asyncio.create_task(self.listen())

    async def listen(self) -> None:
        """Over WebSocket, by `websockets`."""
        async with websockets.connect(self.address.replace("http", "ws", 1)) as connection:
            async for message in connection:
                self.heard.append(orjson.loads(message))

    async def told(self, count: int) -> list[dict[str, Any]]:
        """The first changes, once there are so many."""
        await until(lambda: len(self.changes) >= count)
        return self.changes

    @property
    def changes(self) -> list[dict[str, Any]]:
        return [one for one in self.heard if one["kind"] in ("commit", "account", "identity")]

    async def ready(self) -> "Listener":
        """Wait for the first message."""
        await until(lambda: bool(self.heard) or self._task.done())
        if self._task.done():
            self._task.result()
        return self

    async def stop(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


class ByHttpx(Listener):
    """Server-sent events, by `httpx-sse`."""

    async def listen(self) -> None:
        async with (
            httpx.AsyncClient(timeout=60, verify=False) as client,
            aconnect_sse(client, "GET", self.address) as source,
        ):
            async for event in source.aiter_sse():
                self.heard.append(event.json() | {"id": event.id})


class ByAiohttp(Listener):
    """Server-sent events, by `aiohttp-sse-client2`."""

    async def listen(self) -> None:
        async with EventSource(self.address) as source:
            async for event in source:
                self.heard.append(orjson.loads(event.data) | {"id": event.last_event_id})


class FromNpm(Listener):
    """One of npm's clients, in a process of its own."""

    client: str

    async def listen(self) -> None:
        program = await asyncio.create_subprocess_exec(
            NODE, CONSUMERS / "live.mjs", self.client, self.address, stdout=asyncio.subprocess.PIPE
        )
        assert program.stdout is not None
        try:
            async for line in program.stdout:
                self.heard.append(orjson.loads(line))
        finally:
            program.kill()
            await program.wait()


class ByEventSource(FromNpm):
    """Server-sent events, by `eventsource`, which connects again by itself."""

    client = "eventsource"


class ByWs(FromNpm):
    """WebSocket, by `ws`."""

    client = "ws"


def told(change: dict[str, Any]) -> tuple[str, str]:
    """What happened, and to whose record of which type."""
    commit = change["commit"]
    return commit["operation"], commit["collection"].rpartition(".")[2]


def told_type(change: dict[str, Any]) -> str:
    """Of whose record it is; empty: of an account."""
    return told(change)[1] if change["kind"] == "commit" else ""


@pytest.mark.parametrize("kind", [Listener, ByHttpx, ByAiohttp, ByEventSource, ByWs])
@pytest.mark.slow
async def test_each_client_hears_what_is_published_as_jetstream_writes_it(
    busy: Music, kind: type[Listener]
) -> None:
    if issubclass(kind, FromNpm) and not (CONSUMERS / "node_modules").is_dir():
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("they are not installed: npm --prefix tests/consumers ci --ignore-scripts")
    number = {Listener: 100, ByHttpx: 110, ByAiohttp: 120, ByEventSource: 200, ByWs: 210}[kind]
    listener = await kind(busy).ready()
    track = put("mara", "track", number, at=number, title="New", image=PICTURE)
    await busy.add(track)
    await busy.add(
        like("ben", track.uri, number, at=number + 1), delete("mara", "track", number, at=number + 2)
    )
    changes = await listener.told(2)
    await listener.stop()

    assert [told(one) for one in changes] == [("create", "track"), ("delete", "track")]
    first = changes[0]
    assert first["did"] == did("mara")
    assert first["commit"]["record"]["title"] == "New"
    assert first["commit"]["record"]["image"]["ref"].keys() == {"$link"}
    assert first["commit"]["cid"] == track.cid
    assert first["commit"]["rev"] == track.rev
    assert first["time_us"] < changes[1]["time_us"]
    assert "record" not in changes[1]["commit"]
    if kind not in (Listener, ByWs):
        assert int(first["id"]) == first["time_us"]


@pytest.mark.slow
async def test_clients_choose_what_they_hear(busy: Music) -> None:
    queries = {
        "?wantedCollections=fm.svc.like": [("create", "like")],
        "?wantedCollections=fm.svc.*&wantedDids=" + did("ida"): [("create", "comment")],
        "?artist=ben.example": [("create", "track")],
        "?tag=%23RARE&tag=none": [("create", "track"), ("update", "track")],
        "?artist=mara.example&wantedCollections=fm.svc.track": [("create", "track"), ("update", "track")],
    }
    listeners = {query: await Listener(busy, query).ready() for query in queries}
    await busy.add(put("mara", "track", 130, at=130, tags=["rare"]), put("ben", "track", 131, at=131))
    await busy.add(like("ben", TRACK, 132, at=132), comment("ida", TRACK, 133, at=133))
    await busy.add(put("mara", "track", 130, at=134, tags=["other"]))
    for query, listener in listeners.items():
        changes = await listener.told(len(queries[query]))
        await listener.stop()
        assert [told(one) for one in changes] == queries[query], query


async def test_cards_come_when_the_index_shows_them(busy: Music) -> None:
    listener = await Listener(busy, "?cards=true").ready()
    await busy.add(put("mara", "track", 140, at=140, title="With a card"))
    await busy.add(like("ben", uri("mara", "track", 140), 141, at=141))
    first, second = await listener.told(2)
    await listener.stop()
    assert first["card"]["title"] == second["card"]["title"] == "With a card"
    assert first["card"]["artist_handle"] == "mara.example"


async def test_a_cursor_resumes_exactly(busy: Music) -> None:
    listener = await Listener(busy, "?cursor=0").ready()
    assert listener.heard[0]["info"]["name"] == "OutdatedCursor"
    whole = await listener.told(20)
    await asyncio.sleep(0.2)
    await listener.stop()
    whole = listener.changes
    cursor = whole[7]["time_us"]
    again = await Listener(busy, f"?cursor={cursor}").ready()
    assert await again.told(len(whole) - 8) == whole[8:]
    await again.stop()

    async with (
        httpx.AsyncClient(verify=False) as client,
        aconnect_sse(
            client, "GET", f"{busy.address}/live?cursor=1", headers={"Last-Event-ID": str(cursor)}
        ) as source,
    ):
        async for event in source.aiter_sse():
            if event.event == "message":
                assert event.json() == whole[8]
                break
    reply = await busy.get(f"/live?cursor={2**62}")
    assert reply.status == 422
    assert "later than" in str(reply.json)


async def test_what_is_no_longer_public_is_not_told_again(busy: Music) -> None:
    before = busy.stores.index.op
    track = put("mara", "track", 150, at=150, title="Regretted")
    await busy.add(track)
    await busy.add(like("ben", track.uri, 151, at=151), put("ben", "track", 152, at=152, title="Copied"))
    await busy.add(delete("mara", "track", 150, at=153))
    assert before < busy.stores.index.op
    listener = await Listener(busy, "?cursor=0").ready()
    await until(lambda: bool(listener.changes) and told(listener.changes[-1]) == ("delete", "track"))
    await listener.stop()
    about = [one for one in listener.changes if one.get("commit", {}).get("rkey") == track.rkey]
    assert [told(one) for one in about] == [("delete", "track")]
    assert "Regretted" not in str(listener.changes)
    assert "Copied" in str(listener.changes)


async def test_what_is_taken_down_or_labelled_is_hidden_and_not_told_again(busy: Music) -> None:
    """A takedown, a label that hides, one for adults, and one of an account; restored, all is shown again."""
    labeler, secret = "did:plc:labelerlabelerlabelerla", "Secret"
    numbers = range(220, 223)
    tracks = [put("mara", "track", n, at=n, title=f"{secret} {n}") for n in numbers]
    await busy.add(*tracks, put("ida", "track", 223, at=223, title=f"{secret} 223"))
    values = {str(tracks[1].uri): "copyright", str(tracks[2].uri): "porn", did("ida"): "!hide"}
    listener = await Listener(busy).ready()
    labels = [Label(labeler, subject, None, value, LABELLED) for subject, value in values.items()]
    await busy.label(*labels)
    await busy.take_down(tracks[0].uri)
    changes = await listener.told(4)

    hidden = {one["commit"]["rkey"] for one in changes if one["kind"] == "commit"}
    assert hidden == {track.rkey for track in tracks}
    assert {one["commit"]["operation"] for one in changes if one["kind"] == "commit"} == {"hide"}
    assert [one["account"]["active"] for one in changes if one["kind"] == "account"] == [False]
    assert "record" not in str(changes)

    # Whoever is hidden goes on writing, and is liked: none of it is told, at once or by a replay.
    await busy.add(
        *(put("mara", "track", n, at=n + 100, title=f"{secret} again") for n in numbers),
        *(like("ben", track.uri, n, at=n + 200) for n, track in zip(numbers, tracks, strict=True)),
        comment("ben", uri("ida", "track", 223), 224, at=500, text=secret),
        put("ben", "track", 225, at=501, title="The end"),
    )
    assert [one["commit"]["record"]["title"] for one in (await listener.told(5))[4:]] == ["The end"]
    replayed = await Listener(busy, "?cursor=0&cards=true").ready()
    await until(lambda: "The end" in str(replayed.changes))
    assert secret not in str(replayed.changes)
    await replayed.stop()

    await busy.label(*(label._replace(negated=True, cts=LATER) for label in labels))
    await busy.take_down()
    # Three tracks with their likes; the account, with its track and the comment of it.
    back = (await listener.told(14))[5:]
    assert {told(one)[0] for one in back if one["kind"] == "commit"} == {"show"}
    assert {one["commit"]["rkey"] for one in back if told_type(one) == "track"} >= hidden
    assert [one["account"]["active"] for one in back if one["kind"] == "account"] == [True]
    await listener.stop()


async def test_a_takedown_holds_before_the_indexer_knows_of_it(busy: Music) -> None:
    listener = await Listener(busy).ready()
    track = put("mara", "track", 230, at=230, title="Decided on")
    async with open_state(busy.settings) as state:
        decided = await state.takedown_decisions.decide(str(track.uri), "takedown", "Copied.", "operator")
        await until(lambda: busy.stores.takedowns.number == decided.number)
        await busy.add(
            track, like("ben", track.uri, 231, at=231), put("ben", "track", 232, at=232, title="Own")
        )
        await listener.told(1)
        last = await state.takedown_decisions.decide(str(track.uri), "restore", "A mistake.", "operator")
        await until(lambda: busy.stores.takedowns.number == last.number)
    assert [one["commit"]["record"]["title"] for one in listener.changes] == ["Own"]
    await listener.stop()


async def narrow_client(music: Music, query: str = "") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client that has read the stream's first heartbeat, with little room for what it has not read yet."""
    narrow = socket.socket()
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
    narrow.setblocking(False)
    port = int(music.address.rpartition(":")[2])
    await asyncio.get_running_loop().sock_connect(narrow, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(sock=narrow, limit=1 << 16)
    writer.write(f"GET /live{query} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
    await reader.readuntil(b"heartbeat")
    return reader, writer


def log_much(music: Music, number: int) -> None:
    """Log changes of almost a megabyte."""
    again = {"at": number, "title": f"{number}", "description": "x" * 2000}
    music._writer.write(Batch(changes=[put("mara", "track", n, **again) for n in range(1000, 1400)]))


@pytest.mark.slow
async def test_slow_clients_are_dropped_with_a_cursor(busy: Music, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readapi.live.subscriber.MOST_WAITING", 1)
    reader, writer = await narrow_client(busy)
    for number in range(160, 175):
        log_much(busy, number)
        await asyncio.sleep(0.1)
    everything = b""
    while (
        piece := await asyncio.wait_for(reader.read(1 << 20), 30)
    ) and b"ConsumerTooSlow" not in everything[-9999:]:
        everything += piece
    writer.transport.abort()
    assert b"ConsumerTooSlow" in everything
    cursor = int(everything.rpartition(b'"cursor":')[2].split(b"}")[0])
    assert cursor > 0


async def test_clients_that_read_nothing_keep_no_other_from_catching_up(busy: Music) -> None:
    for number in range(180, 190):
        log_much(busy, number)
    idle = [await narrow_client(busy, "?cursor=0") for _ in range(8)]
    end = LogReader.at_end(busy.settings.data_dir / data_folder.CHANGES)
    last = end.position
    end.close()
    listener = await Listener(busy, "?cursor=0").ready()
    await until(lambda: bool(listener.changes) and listener.changes[-1]["time_us"] >= last)
    await listener.stop()
    for _, writer in idle:
        writer.transport.abort()


@pytest.mark.slow
async def test_a_client_that_reads_slowly_for_long_is_sent_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a narrow network, on which the system takes little of an answer at once."""
    accept = server._Connection.connection_made

    def narrowly(connection: server._Connection, transport: asyncio.BaseTransport) -> None:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 << 10)
        accept(connection, transport)

    monkeypatch.setattr(server._Connection, "connection_made", narrowly)
    monkeypatch.setattr(server, "ConnectionTimeouts", lambda: ConnectionTimeouts(stalled=0.4))
    async with playing(tmp_path) as music:
        for number in range(180, 184):
            log_much(music, number)
        await music.add(put("mara", "track", 300, at=300, title="The last"))
        reader, writer = await narrow_client(music, "?cursor=0")
        read = b""
        while b"The last" not in read[-(64 << 10) :]:
            read += (piece := await asyncio.wait_for(reader.read(32 << 10), 30))
            assert piece, "it was disconnected"
            await asyncio.sleep(0.03)
        writer.transport.abort()


async def test_another_indexers_log_is_followed_whose_newest_change_is_older(tmp_path: Path) -> None:
    """Clients that wait for its end take no place from those that resume."""
    async with playing(tmp_path) as music:
        listeners = [await Listener(music).ready()]
        await music.add(put("mara", "track", 300, at=300))
        newest = (await listeners[0].told(1))[0]["time_us"]
        changes = tmp_path / data_folder.CHANGES
        changes.rename(tmp_path / "changes.former")
        log_changes(changes, newest - 2000, newest - 1000)

        for _ in range(5):
            listeners.append(await Listener(music, f"?cursor={newest - 1500}").ready())
            await listeners[-1].told(1)
        log_changes(changes, newest - 1000, newest + 1000)

        for listener in listeners:
            last = (await listener.told(2))[-1]
            assert last["time_us"] == newest + 1000
            await listener.stop()


async def test_clients_are_limited(tmp_path: Path) -> None:
    async with playing(tmp_path, live_clients_of_one=2) as few:
        listeners = [await Listener(few).ready() for _ in range(2)]
        refused = await few.get("/live")
        assert refused.status == 429
        for listener in listeners:
            await listener.stop()

        async def is_free() -> bool:
            one = await Listener(few).ready()
            await one.stop()
            return bool(one.heard)

        for _ in range(100):
            with suppress(websockets.InvalidStatus):
                if await is_free():
                    break
            await asyncio.sleep(0.05)
        else:
            pytest.fail("the places of clients that left stay taken")


@pytest.mark.slow
@pytest.mark.timeout(60 + 10 * KILLS)
async def test_nothing_is_lost_and_nothing_comes_twice_whichever_end_is_killed(tmp_path: Path) -> None:
    dice = random.Random(7)
    sock = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{sock.getsockname()[1]}"
    defaults = {
        **UNLIMITED,
        "log_level": "error",
        "public_url": address,
        "plc_url": NOWHERE,
        "live_clients_of_one": 50,
    }
    settings = Settings(data_dir=tmp_path, **defaults)
    heard: list[int] = []

    async def listen_once(client: aiohttp.ClientSession) -> None:
        """Read on from the last change heard, until something breaks."""
        async with client.get(f"{address}/live?cursor={heard[-1] if heard else 0}") as answer:
            async for line in answer.content:
                if line.startswith(b'data: {"did'):
                    heard.append(orjson.loads(line[6:])["time_us"])  # noqa: PERF401  # kept at a break

    async def listen(seconds: float, client: aiohttp.ClientSession) -> None:
        with suppress(TimeoutError, aiohttp.ClientError, OSError):
            async with asyncio.timeout(seconds):
                while True:
                    with suppress(aiohttp.ClientError, OSError):
                        await listen_once(client)
                    await asyncio.sleep(0.01)

    async with aiohttp.ClientSession() as client:
        for number in range(KILLS):
            at_work = children.Event()
            child = children.Process(target=endless, args=(tmp_path, 0, at_work))
            child.start()
            async with serving(settings, sock.dup()):
                await asyncio.to_thread(at_work.wait, 60)
                for _ in range(3):
                    await listen(dice.uniform(0.02, 0.15), client)
                if number % 2:
                    child.kill()  # while the client listens, and the worker goes on
                    await listen(dice.uniform(0, 0.1), client)
            child.kill()
            child.join()
        with Writer.open(settings) as writer:
            writer.write(Batch())
        logged = [
            change.position
            for segment in change_log.list_segments(tmp_path / data_folder.CHANGES)
            for change in change_log.read_changes(segment.path.read_bytes(), 0)
        ]
        async with serving(settings, sock.dup()):
            listening = asyncio.create_task(listen(30, client))
            await until(lambda: len(heard) >= len(logged))
            listening.cancel()
    sock.close()
    assert heard == logged
    assert len(heard) > KILLS
