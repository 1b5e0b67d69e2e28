"""The firehose goes on for ever: after every close code, from where the work is finished."""

import asyncio
import contextlib

import pytest

from indexer.network.websockets import WebSocketClient
from indexer.stream import decode, envelope
from indexer.stream.firehose import Firehose
from indexer.stream.prefilter import Prefilter
from indexer.stream.websocket import stream
from schemas.backoff import Backoff
from schemas.collections import Collections
from tests.network import forge
from tests.network.forge import ForgedRepo
from tests.network.handshake import handshake_to
from tests.network.relay import Close, Cut, Refuse, Relay, Send
from tests.patience import PATIENCE_SECONDS

POST = "app.bsky.feed.post"  # in whose commits nothing is ours
QUICK = Backoff(first_seconds=0.01, longest_seconds=0.04)


def frames_of(count, seed="ana", collection="fm.svc.like"):
    repo = ForgedRepo(seed=seed, minimal=True)
    made = []
    for seq in range(1, count + 1):
        repo.create(collection, {"createdAt": "2025-01-01T00:00:00Z"})
        made.append(repo.commit_frame(seq))
    return made


@pytest.fixture
def client():
    return WebSocketClient()


async def until(condition):
    """Wait for something that becomes true while the loop runs."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if condition():
                return
            await asyncio.sleep(0.002)


class Reader:
    """Takes frames one by one, and counts each as finished when the next is asked for."""

    def __init__(self, source, after=None):
        self.finished = after
        source.finished = lambda: self.finished
        self.stream = source.frames(after)

    async def read(self, count):
        taken = []
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for frame in self.stream:
                taken.append(frame)
                self.finished = envelope.seq_of(frame.raw) or self.finished
                if len(taken) == count:
                    break
        return taken

    async def seqs(self, count):
        return [envelope.seq_of(frame.raw) for frame in await self.read(count)]


@contextlib.asynccontextmanager
async def reading(relay, client, after=None, **options):
    source = Firehose(relay.url, client, **{"backoff": QUICK, **options})
    reader = Reader(source, after)
    async with contextlib.aclosing(reader.stream):
        yield source, reader


async def test_frames_come_as_they_were_sent(client):
    """Bytes, order, the relay's name, and the counters that health shows."""
    sent = frames_of(3)

    async with Relay(sent) as relay, reading(relay, client, after=0) as (source, reader):
        got = await reader.read(3)

        assert [frame.raw for frame in got] == sent
        assert {frame.source for frame in got} == {relay.url}
        assert source.name == relay.url
        assert source.status.connected
        assert (source.status.frames, source.status.bytes) == (3, sum(map(len, sent)))
        assert source.status.last_frame_at == got[-1].received_at


@pytest.mark.parametrize(
    "code", [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1011, 1012, 1013, 1014, 3000, 4999]
)
async def test_every_close_code_is_followed_by_a_reconnection(client, code):
    """A polite goodbye is no reason to stop; each is counted by its code."""
    async with (
        Relay(frames_of(4), faults=[Close(code, after=2)]) as relay,
        reading(relay, client, after=0) as (source, reader),
    ):
        assert await reader.seqs(4) == [1, 2, 3, 4]
        assert relay.cursors == [0, 2]
        assert source.status.reconnects == {str(code): 1}
        assert source.status.error is None


async def test_a_connection_cut_in_a_message_is_resumed(client):
    """Half a message is no message."""
    async with (
        Relay(frames_of(3), faults=[Cut(after=1)]) as relay,
        reading(relay, client, after=0) as (source, reader),
    ):
        assert await reader.seqs(3) == [1, 2, 3]
        assert source.status.reconnects == {"1006": 1}


async def test_it_resumes_at_finished_work_not_at_what_was_read(client):
    """Frames that were read but not worked off come again."""
    async with (
        Relay(frames_of(4), faults=[Close(1011, after=3)]) as relay,
        reading(relay, client, after=1) as (source, reader),
    ):
        source.finished = lambda: 1

        assert await reader.seqs(5) == [2, 3, 4, 2, 3]
        assert relay.cursors == [1, 1]


async def test_a_new_install_begins_where_it_is_told(client):
    """`oldest` asks for everything kept, `live` for what comes next."""
    async with Relay(frames_of(2)) as relay:
        async with reading(relay, client, start="oldest") as (_, reader):
            assert await reader.seqs(2) == [1, 2]
        async with reading(relay, client, start="live") as (source, reader):
            waiting = asyncio.ensure_future(reader.seqs(1))
            await until(lambda: source.status.connected)
            await asyncio.sleep(0.02)
            await relay.send(frames_of(3)[2])

            assert await waiting == [3]

        assert relay.cursors == [0, None]


async def test_refusals_are_waited_out(client):
    """A server error and a refused connection end in another attempt and a sentence."""
    async with (
        Relay(frames_of(1), faults=[Refuse(500), Refuse(404)]) as relay,
        reading(relay, client) as (source, reader),
    ):
        assert await reader.seqs(1) == [1]
        assert source.status.reconnects == {"http_500": 1, "http_404": 1}


async def test_retry_after_is_honoured(client):
    """The server's wish outweighs our own, shorter wait."""
    async with (
        Relay(frames_of(1), faults=[Refuse(429, retry_after="1")]) as relay,
        reading(relay, client) as (source, reader),
    ):
        waiting = asyncio.ensure_future(reader.seqs(1))
        await until(lambda: source.status.error)

        assert source.status.error == f"{relay.url} answered HTTP 429 instead of a stream."
        assert 0.8 < source.status.retry_in <= 1
        assert not source.status.connected
        assert await waiting == [1]
        assert source.status.error is None
        assert source.status.retry_in is None


@pytest.mark.parametrize("asked", ["soon", "-5", "Wed, 21 Oct 2015 07:28:00 GMT", "", "٣", "1" * 400])
def test_an_odd_retry_after_is_no_trap(asked):
    """Neither text nor a past date stops us, and nobody makes us wait longer than an hour."""
    assert 0 <= stream._pause_asked(asked) <= 3600


async def test_a_relay_that_is_not_there_is_tried_again(client):
    """It may come later; until then the status says why there is nothing."""
    async with Relay() as relay:
        url, port = relay.url, int(relay.url.rsplit(":", 1)[1])
    source = Firehose(url, client, backoff=QUICK)
    reader = Reader(source)
    waiting = asyncio.ensure_future(reader.seqs(1))
    await until(lambda: source.status.reconnects["unreachable"] > 2)
    assert source.status.error.startswith(f"{url} cannot be reached: ")

    late = Relay(frames_of(1))
    await late.start(port)

    assert await waiting == [1]
    await reader.stream.aclose()
    await late.stop()


async def test_a_cursor_that_the_relay_does_not_know_is_given_up(client):
    """After FutureCursor the stream begins anew, and the sentence says so."""
    slow = Backoff(first_seconds=0.3)
    async with (
        Relay(frames_of(2)) as relay,
        reading(relay, client, after=900, backoff=slow) as (source, reader),
    ):
        [error] = await reader.read(1)
        resumed = asyncio.ensure_future(reader.seqs(2))
        await until(lambda: source.status.retry_in)

        assert decode.stream_error(error.raw).name == "FutureCursor"
        assert source.status.error == (
            f"{relay.url} does not know cursor 900 (FutureCursor); beginning at its oldest event."
        )
        assert await resumed == [1, 2]
        assert relay.cursors == [900, 0]


async def test_a_relay_that_was_reset_is_followed_from_its_new_numbers(client):
    """Once work is finished in the new sequence, that is where it resumes."""
    faults = [Send(forge.error_frame("FutureCursor")), Close(1001, after=1)]
    async with Relay(frames_of(3), faults=faults) as relay, reading(relay, client, after=900) as (_, reader):
        await reader.read(1)

        assert await reader.seqs(3) == [1, 2, 3]
        assert relay.cursors == [900, 0, 1]


async def test_other_errors_of_the_stream_lead_to_a_reconnection(client):
    """A consumer that was too slow tries again; the frame itself is passed on."""
    fault = Send(forge.error_frame("ConsumerTooSlow", "try harder"))
    async with Relay(frames_of(1), faults=[fault]) as relay, reading(relay, client) as (source, reader):
        first, second = await reader.read(2)

        assert decode.stream_error(first.raw).message == "try harder"
        assert envelope.seq_of(second.raw) == 1
        assert source.status.reconnects.total() == 1


async def test_an_outdated_cursor_is_passed_on(client):
    """The note comes before the oldest frame, so whoever decodes can tell of the gap."""
    async with Relay(frames_of(9), window=2) as relay, reading(relay, client, after=3) as (_, reader):
        note, frame = await reader.read(2)

        assert (
            decode.decode_frame(note.raw, Collections().all, (), note.received_at)[0].name == "OutdatedCursor"
        )
        assert envelope.seq_of(frame.raw) == 8


async def test_text_and_giants_are_passed_on_as_they_are(client):
    """What is no frame is the decoder's to say; one message over the limit does not stop the stream."""
    giant = bytes(9 << 20)
    repo_frames = frames_of(1)
    async with (
        Relay([giant, *repo_frames], faults=[Send("héllo")]) as relay,
        reading(relay, client) as (source, reader),
    ):
        text, big, good = await reader.read(3)

        assert text.raw == "héllo".encode()
        assert big.raw == giant
        assert good.raw == repo_frames[0]
        assert source.status.reconnects == {"1008": 1, "1009": 1}


async def test_a_slow_consumer_stops_the_socket(client):
    """Unread frames stay with the relay, not in our memory."""
    async with Relay(frames_of(1)) as relay, reading(relay, client) as (_, reader):
        await relay.send(*[b"\xff" * 100_000] * 400)

        await reader.read(1)
        await asyncio.sleep(0.3)

        # The rest, of 40 MB, waits in the kernel's buffers and at the relay.
        assert relay.sent < 200


async def test_strangers_commits_are_let_go_while_more_come_with_them(client):
    """The last that came is always there, and every one is counted."""
    sent = frames_of(50, "bea", POST)
    async with Relay(sent) as relay, reading(relay, client, after=0) as (source, reader):
        source.prefilter = Prefilter(Collections().all, ())
        reader.stream = source.frames(0)
        taken = await reader.read(1)
        while envelope.seq_of(taken[-1].raw) < 50:
            taken += await reader.read(1)

        assert len(taken) + sum(frame.passed for frame in taken) == 50
        assert len(taken) < 50
        assert (source.status.frames, source.status.bytes) == (50, sum(map(len, sent)))
        await reader.stream.aclose()


async def test_commits_behind_an_unprocessed_record_of_ours_are_kept(client):
    """Their account may become one of ours by it, also while they are received."""
    tracked = set()
    repo = ForgedRepo(seed="bea")
    repo.create("fm.svc.like", {})
    first = repo.commit_frame(1)
    async with Relay([first]) as relay, reading(relay, client, after=0) as (source, reader):
        source.prefilter = Prefilter(Collections().all, tracked)
        reader.stream = source.frames(0)
        await reader.read(1)
        for seq in (2, 3, 4):
            repo.create(POST, {"text": "hi"})
            await relay.send(repo.commit_frame(seq))
        await until(lambda: relay.sent == 4)
        await asyncio.sleep(0.05)
        tracked.add(repo.did)

        assert [(envelope.seq_of(frame.raw), frame.passed) for frame in await reader.read(3)] == [
            (2, 0),
            (3, 0),
            (4, 0),
        ]
        await reader.stream.aclose()


async def test_a_silent_relay_is_not_a_dead_one(client):
    """Pings are answered, so a stream without events is left alone."""
    async with Relay() as relay, reading(relay, client, heartbeat_seconds=0.1) as (source, reader):
        waiting = asyncio.ensure_future(reader.seqs(1))
        await asyncio.sleep(0.5)
        await relay.send(*frames_of(1))

        assert await waiting == [1]
        assert source.status.reconnects == {}


async def test_a_dead_relay_is_noticed_by_its_silence_to_pings(client):
    """A host that vanished without a goodbye never answers; another connection is made."""
    silent = await asyncio.start_server(accept_and_say_nothing_more, "127.0.0.1", 0)
    url = f"ws://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
    source = Firehose(url, client, backoff=QUICK, heartbeat_seconds=0.1)
    reading = asyncio.ensure_future(anext(source.frames(None)))

    await until(lambda: source.status.error)
    assert source.status.error == f"{url} fell silent and did not answer a ping."

    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    silent.close()


async def accept_and_say_nothing_more(reader, writer):
    """Speak HTTP just long enough to begin a websocket."""
    writer.write(handshake_to(await reader.readuntil(b"\r\n\r\n")))
    while await reader.read(1000):
        pass
    writer.close()
