"""Frames of other people, from a loopback websocket to the filter: our client and decoder beside the SDK's.

    python -m tests.bench.decoding

One process serves ready-made bytes as fast as they are taken. The clients take turns, each in a process of
its own and measured in its own CPU time; the figures are medians over the rounds. The SDK has a blocking
client and a much slower one for asyncio. Both are shown; the target is set against the blocking one.
"""

import asyncio
import contextlib
import logging
import multiprocessing
import random
import statistics
import struct
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Final

import structlog

from indexer.events import Passed
from indexer.network.websockets import WebSocketClient
from indexer.pipeline import decode_frames
from indexer.stream.firehose import Firehose
from schemas.collections import Collections
from schemas.ids import Did, tid_at
from tests.bench.rows import Row, rounded
from tests.network.forge import START, ForgedRepo
from tests.network.handshake import handshake_to

REPOS, RECORDS_BEFORE = 2, 1_500
REPLY = {
    "text": "Heard it last night on the way home, and then once more with the windows open. " * 5,
    "langs": ["en"],
    "createdAt": "2025-01-01T00:00:00.000Z",
    "reply": {
        end: {
            "uri": "at://did:plc:ewvi7nxzyoun6zhxrhs64oiz/app.bsky.feed.post/3lenax2vsps22",
            "cid": "bafyreihltcnuuyqp2jm24aqydpnlj7b6w3ogwrplomrjtg5rifv44mmjey",
        }
        for end in ("root", "parent")
    },
}
NAME: Final = "frames that are not ours, loopback websocket to filter, one core"
CLIENT: Final = "atproto's FirehoseSubscribeReposClient, parse and CAR"
ASYNC_CLIENT: Final = "atproto's AsyncFirehoseSubscribeReposClient, parse and CAR"
SPARE = 2_000  # served beyond what is counted, so that no client waits for the end


def make_frames(count: int) -> list[bytes]:
    """Signed commits of posts with their proofs, about the size and shape of the network's."""
    chance = random.Random(1)
    repos = [ForgedRepo(seed=f"repo {number}") for number in range(REPOS)]
    for repo in repos:
        for _ in range(RECORDS_BEFORE):
            repo.create("app.bsky.feed.like", REPLY, random_rkey(chance))
        repo.commit_frame(0)
    frames = []
    for seq in range(1, count + 1):
        repo = repos[seq % REPOS]
        repo.create("app.bsky.feed.post", REPLY, random_rkey(chance))
        frames.append(repo.commit_frame(seq))
    return frames


def random_rkey(chance: random.Random) -> str:
    """A key from any time of the last years, so that neighbours in the tree share as little as real ones."""
    return tid_at(START + timedelta(seconds=chance.uniform(0, 1e8)), chance.getrandbits(10))


def serve(frames: list[bytes], total: int, port: Connection) -> None:
    """Send `total` messages to whoever connects."""
    messages = b"".join(b"\x82\x7e" + struct.pack(">H", len(frame)) + frame for frame in frames)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(handshake_to(await reader.readuntil(b"\r\n\r\n")))
        with contextlib.suppress(ConnectionError):
            for _ in range(-(-total // len(frames))):
                writer.write(messages)
                await writer.drain()
            await reader.read()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def read_ours(url: str, count: int) -> float:
    """Frames per CPU second through our source and decoder, as the pipeline reads them."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    tracked = frozenset[Did]()

    async def run() -> float:
        reading = decode_frames(Firehose(url, WebSocketClient()), None, Collections().all, tracked)
        async with contextlib.aclosing(reading) as frames:
            started, taken = 0.0, 0
            async for frame, [passed] in frames:
                assert isinstance(passed, Passed)
                if not started:
                    started = time.process_time()
                    continue
                taken += 1 + frame.passed
                if taken >= count:
                    break
            return taken / (time.process_time() - started)

    return asyncio.run(run())


def read_sdk(url: str, count: int) -> float:
    """Frames per CPU second through the client and calls that the SDK's documentation shows."""
    from atproto import CAR, FirehoseSubscribeReposClient, models, parse_subscribe_repos_message

    client = FirehoseSubscribeReposClient(base_uri=f"{url}/xrpc")
    started, taken = 0.0, 0

    def on_message(message: object) -> None:
        nonlocal started, taken
        if taken == 0:
            started = time.process_time()
        commit = parse_subscribe_repos_message(message)
        if not isinstance(commit, models.ComAtprotoSyncSubscribeRepos.Commit):
            raise TypeError("every frame is a commit")
        CAR.from_bytes(commit.blocks)
        taken += 1
        if taken > count:
            client.stop()

    client.start(on_message)
    return count / (time.process_time() - started)


def read_sdk_async(url: str, count: int) -> float:
    """The same through the SDK's client for asyncio, which ours is too."""
    from atproto import CAR, AsyncFirehoseSubscribeReposClient, models, parse_subscribe_repos_message

    client = AsyncFirehoseSubscribeReposClient(base_uri=f"{url}/xrpc")
    started, taken = 0.0, 0

    async def on_message(message: object) -> None:
        nonlocal started, taken
        if taken == 0:
            started = time.process_time()
        commit = parse_subscribe_repos_message(message)
        if not isinstance(commit, models.ComAtprotoSyncSubscribeRepos.Commit):
            raise TypeError("every frame is a commit")
        CAR.from_bytes(commit.blocks)
        taken += 1
        if taken > count:
            await client.stop()

    asyncio.run(client.start(on_message))
    return count / (time.process_time() - started)


def measure(read: Callable[[str, int], float], url: str, count: int) -> float:
    """The same in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(read, (url, count))


def rows(count: int = 200_000, rounds: int = 5) -> Iterator[Row]:
    """Our throughput, and how it compares with both clients of the SDK."""
    frames = make_frames(min(count, 4_000))
    with serving(frames, count + SPARE) as url:
        # A fortieth of the frames takes the SDK as long, and longer.
        turns = [
            (
                measure(read_ours, url, count),
                measure(read_sdk, url, count // 40),
                measure(read_sdk_async, url, count // 40),
            )
            for _ in range(rounds)
        ]
    ours, sdk, sdk_async = (statistics.median(column) for column in zip(*turns, strict=True))
    ratios = {CLIENT: rounded(ours / sdk), ASYNC_CLIENT: rounded(ours / sdk_async)}
    yield Row(NAME, rounded(ours), "frames per CPU second", ratios)
    mean_bytes = statistics.fmean(map(len, frames))
    yield Row(f"{NAME}: bytes of a frame", rounded(mean_bytes), "bytes on average")


@contextlib.contextmanager
def serving(frames: list[bytes], total: int) -> Iterator[str]:
    """The server in a process of its own, and its address."""
    told, port = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.Process(target=serve, args=(frames, total, port), daemon=True)
    server.start()
    try:
        yield f"ws://127.0.0.1:{told.recv()}"
    finally:
        server.terminate()
        server.join()


if __name__ == "__main__":
    for row in rows():
        print(row.line())
