"""A Jetstream is followed by time: whichever host, and from a little before where work ended."""

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from indexer.events import Identity, Info, Sync, Unverified
from indexer.network.websockets import WebSocketClient
from indexer.stream.decode_jetstream import EPOCH, MICROSECOND
from indexer.stream.jetstream import OLDEST, Jetstream
from indexer.stream.recording import Recorded, record_frames
from schemas.backoff import Backoff
from schemas.collections import Collections
from tests.indexer.stream.test_firehose import until
from tests.network import forge
from tests.network.forge import ForgedRepo
from tests.network.jetstream import JetstreamDouble, Message
from tests.network.relay import Close, Refuse
from tests.patience import PATIENCE_SECONDS

OURS = Collections().all
LIKE = "fm.svc.like"
QUICK = Backoff(first_seconds=0.01, longest_seconds=0.04)
SECOND = 1_000_000
NOW = datetime.now(UTC).replace(microsecond=0)

both = pytest.mark.parametrize("version", ["1", "2"])


def likes(count: int, repo: ForgedRepo, seconds: float = 1.0, start: datetime = NOW) -> list[bytes]:
    """Commits of one like each, so many seconds apart, the last one now."""
    made = []
    for number in range(count):
        repo.create(LIKE, {"createdAt": "2025-01-01T00:00:00Z"}, rkey=f"like-{number}")
        made.append(repo.commit_frame(number + 1, start - timedelta(seconds=seconds * (count - 1 - number))))
    return made


def micros(instant: datetime) -> int:
    return (instant - EPOCH) // MICROSECOND


@pytest.fixture
def ana() -> ForgedRepo:
    return ForgedRepo(seed="ana", start=NOW - timedelta(days=3))


@contextlib.asynccontextmanager
async def reading(host: JetstreamDouble, version: str = "1", after: int | None = None, **options):
    """The source, and what reads the next so many of its events."""
    source = Jetstream(host.url, WebSocketClient(), OURS, version=version, backoff=QUICK, **options)
    async with contextlib.aclosing(source.frames(after)) as stream:

        async def read(count: int):
            events = []
            async with asyncio.timeout(PATIENCE_SECONDS):
                while len(events) < count:
                    frame = await anext(stream)
                    events += source.decode(frame.raw, OURS, [forge.did_of("ana")], frame.received_at)
            return events

        yield source, read


@both
async def test_it_asks_for_our_collections_and_begins_at_the_oldest(ana, version):
    """A new install takes what the host still has; records of others never come."""
    strange = ForgedRepo(seed="bea", start=NOW - timedelta(days=3))
    strange.create("app.bsky.feed.post", {"text": "hi"})
    async with (
        JetstreamDouble([strange.commit_frame(9), *likes(2, ana)]) as host,
        reading(host, version) as (source, read),
    ):
        first, second = await read(2)

        assert (first.operations[0].path, second.operations[0].path) == (f"{LIKE}/like-0", f"{LIKE}/like-1")
        assert second.seq == micros(NOW)
        wanted = {"1": "wantedCollections", "2": "collections"}[version]
        assert host.asked == [{wanted: sorted(OURS), "cursor": [str(OLDEST)]}]
        assert source.status.connected


@both
async def test_it_resumes_a_little_before_finished_work(ana, version):
    """Five seconds are read again after every end of a connection."""
    faults = [Close(1000, after=9), Refuse(503)]
    async with (
        JetstreamDouble(likes(9, ana), faults=faults) as host,
        reading(host, version) as (source, read),
    ):
        seqs = [event.seq for event in await read(9)]
        source.finished = lambda: seqs[8]
        seqs += [event.seq for event in await read(6)]

        assert [(seq - micros(NOW)) // SECOND for seq in seqs] == [*range(-8, 1), *range(-5, 1)]
        assert source.status.reconnects == {"1000": 1, "http_503": 1}


async def test_short_connections_do_not_lead_ever_further_back(ana):
    """What was finished once is where it goes on, though what comes first again is older."""
    faults = [Close(1011, after=1)] * 3
    async with JetstreamDouble(likes(9, ana), faults=faults) as host, reading(host) as (source, read):
        finished = [micros(NOW)]
        source.finished = lambda: finished[-1]
        for _ in range(3):
            [event] = await read(1)
            finished.append(event.seq)
        await read(1)

        assert {asked["cursor"][0] for asked in host.asked} == {str(micros(NOW) - 5 * SECOND)}


async def test_live_begins_with_what_comes_next(ana):
    """No cursor is sent."""
    *before, after = likes(3, ana)
    async with JetstreamDouble(before) as host, reading(host, start="live") as (source, read):
        waiting = asyncio.ensure_future(read(1))
        await until(lambda: source.status.connected)
        await asyncio.sleep(0.02)
        await host.hear(after)

        assert [event.seq for event in await waiting] == [micros(NOW)]
        assert "cursor" not in host.asked[0]


@both
async def test_a_cursor_that_is_too_old_is_told_of(ana, version):
    """Version 2 says so itself; for version 1, which does not, the age of the cursor does."""
    frames = likes(3, ana, seconds=3600)
    async with (
        JetstreamDouble(frames, window=2) as host,
        reading(host, version, after=micros(NOW - timedelta(days=2))) as (_, read),
    ):
        note, first = await read(2)

        assert (type(note), note.name) == (Info, "OutdatedCursor")
        assert first.seq == micros(NOW) - 3600 * SECOND


async def test_one_host_goes_on_where_another_ended(ana):
    """The cursor of an instant is its microsecond, on any host."""
    here = Jetstream("wss://one.example", WebSocketClient(), OURS)
    there = Jetstream("wss://two.example", WebSocketClient(), OURS, version="2")

    assert here.name == "wss://one.example/subscribe"
    assert there.name == "wss://two.example/xrpc/network.bsky.jetstream.subscribeEvents"
    assert here.cursor_at(NOW) == there.cursor_at(NOW) == micros(NOW)


async def test_the_second_version_tells_of_syncs(ana):
    """With the signed commit, so that they can be verified as a relay's."""
    frames = [*likes(1, ana), ana.sync_frame(2, NOW), ana.identity_frame(3)]
    async with JetstreamDouble(frames) as host:
        async with reading(host, "1") as (_, read):
            assert [type(event) for event in await read(2)] == [Unverified, Identity]
        async with reading(host, "2") as (_, read):
            events = await read(3)

    assert [type(event) for event in events] == [Unverified, Sync, Identity]
    assert events[1].blocks[events[1].cid] == ana.commit_block


async def test_an_error_frame_ends_the_connection_with_a_sentence(ana):
    """A consumer that was too slow is told, and connects again."""
    async with JetstreamDouble(likes(1, ana)) as host, reading(host, "2") as (source, read):
        error = {"$type": "error", "error": "ConsumerTooSlow", "message": "try harder"}
        host.messages[:0] = [Message(OLDEST, None, None, orjson.dumps(error))]
        source._stream._backoff = Backoff(first_seconds=0.3)

        [event] = await read(1)

        assert event.name == "ConsumerTooSlow"
        waiting = asyncio.ensure_future(read(1))
        await until(lambda: source.status.error)
        assert source.status.error == f"{source.name} ended the stream: ConsumerTooSlow. try harder"
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


async def test_a_recording_of_a_jetstream_is_read_as_such(ana, tmp_path):
    """The recording's name says whose frames they are."""
    async with JetstreamDouble(likes(2, ana)) as host:
        source = Jetstream(host.url, WebSocketClient(), OURS)
        assert await record_frames(source, tmp_path / "a", frames=2) == 2
        assert source.finished() == micros(NOW)

    replayed = Recorded(tmp_path / "a")
    frames = [frame async for frame in replayed.frames(None)]
    events = [replayed.decode(frame.raw, OURS, (), frame.received_at)[0] for frame in frames]

    assert [type(event) for event in events] == [Unverified, Unverified]


async def test_the_double_speaks_as_the_sdks_own_client_expects(ana):
    """Our double is held to the protocol by somebody else's reading of it."""
    from atproto import AsyncJetstreamClient  # takes a second, which each process of a test run would pay

    frames = [*likes(2, ana), ana.identity_frame(3), ana.account_frame(4, "deactivated")]
    async with JetstreamDouble(frames) as host:
        params = {"collections": sorted(OURS), "cursor": OLDEST}
        client = AsyncJetstreamClient(params, base_uri=f"{host.url}/xrpc", compress=False)
        heard = []

        async def hear(message):
            heard.append(message)
            if len(heard) == 4:
                await client.stop()

        async with asyncio.timeout(PATIENCE_SECONDS):
            await client.start(hear)

    assert [type(message).__name__ for message in heard] == ["Commit", "Commit", "Identity", "Account"]
    assert [message.rkey for message in heard[:2]] == ["like-0", "like-1"]
    assert heard[3].account.status == "deactivated"
