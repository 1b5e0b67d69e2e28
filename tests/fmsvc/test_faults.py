"""Broken connections and misbehaving servers, over real sockets: success or a typed error, and nothing half.

The service runs whole, with a real PDS; `BrokenLink` between it and the client does what the service cannot
be made to do: end in the middle of a request or an answer, refuse for a while, answer with something else.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fmsvc import AnswerError, AsyncClient, FmsvcError, RateLimitedError, UnavailableError, UnreachableError
from tests.readapi.studio import COLLECTIONS, Artist, Studio

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session")]

STORM = "HTTP/1.1 {} Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Break:
    """Ends a connection after so many bytes of the request, or of the answer."""

    sent: int | None = None
    received: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """Answers in place of the service, once the request's head was read."""

    text: str


@dataclass(slots=True)
class BrokenLink:
    """Passes connections on to a service; requests whose first line has `path` meet the next of `faults`."""

    host: str
    port: int
    path: str = ""
    faults: list[Break | Reply] = field(default_factory=list)
    met: int = 0
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, which carries one request."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            fault = None
            if self.faults and self.path in head.decode().partition("\r\n")[0]:
                fault = self.faults.pop(0)
                self.met += 1
            if isinstance(fault, Reply):
                writer.write(fault.text.encode())
                await writer.drain()
            else:
                fault = fault or Break()
                head = head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
                theirs, ours = await asyncio.open_connection(self.host, self.port)
                sending = asyncio.create_task(_pass(reader, ours, head, fault.sent))
                receiving = asyncio.create_task(_pass(theirs, writer, b"", fault.received))
                await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
                if not receiving.done() and fault.sent is None:
                    await receiving
                for task in (sending, receiving):
                    task.cancel()
                await asyncio.gather(sending, receiving, return_exceptions=True)
                ours.transport.abort()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _pass(
    source: asyncio.StreamReader, target: asyncio.StreamWriter, first: bytes, most: int | None
) -> None:
    """Copy `first` and the source, at most `most` bytes; then break the connection."""
    left, part = most, first or await source.read(1024)
    while part:
        target.write(part if left is None else part[:left])
        await target.drain()
        if left is not None:
            left -= len(part)
            if left <= 0:
                target.transport.abort()
                return
        part = await source.read(1024)


@asynccontextmanager
async def broken_link(studio: Studio) -> AsyncIterator[BrokenLink]:
    host, _, port = studio.door.address.removeprefix("http://").partition(":")
    link = BrokenLink(host, int(port))
    server = await asyncio.start_server(link.serve, "127.0.0.1", 0)
    async with server:
        link.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield link


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("fmsvc.answers", "fmsvc._async.http", "fmsvc._async.transfers"):
        monkeypatch.setattr(f"{module}.backoff", lambda _attempt: 0.01)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


async def titles(artist: Artist) -> list[str]:
    return [str(record["title"]) for record in await artist.records(COLLECTIONS.track)]


@pytest.mark.parametrize(
    "fault", [Break(sent=4000), Break(received=0), Break(received=60), Reply(STORM.format(503))]
)
@pytest.mark.slow
async def test_an_upload_that_breaks_off_is_sent_again_and_makes_one_record(
    studio: Studio, song: Path, fault: Break | Reply
) -> None:
    """In the middle of the file, after it, in the middle of the answer; and refused for a while."""
    artist = await studio.artist()
    async with (
        broken_link(studio) as link,
        AsyncClient(api_url=link.url, token=artist.session) as client,
    ):
        link.path, link.faults = "POST /tracks/", [fault]
        done = await client.tracks.upload(song, "Once")

        assert link.met == 1
        assert [track.id for track in await client.tracks.my()] == [done.track_id]
    assert await titles(artist) == ["Once"]


async def test_an_upload_that_is_never_answered_is_an_error_and_can_be_repeated(
    studio: Studio, song: Path
) -> None:
    artist = await studio.artist()
    async with (
        broken_link(studio) as link,
        AsyncClient(api_url=link.url, token=artist.session) as client,
    ):
        link.path, link.faults = "POST /tracks/", [Break(received=0)] * 3
        with pytest.raises(UnreachableError):
            await client.tracks.upload(song, "Once", idempotency_key="mine")
        await client.tracks.upload(song, "Once", idempotency_key="mine")
    assert await titles(artist) == ["Once"]


async def test_events_that_break_off_are_followed_on_a_new_connection(studio: Studio, song: Path) -> None:
    artist = await studio.artist()
    async with (
        broken_link(studio) as link,
        AsyncClient(api_url=link.url, token=artist.session) as client,
    ):
        link.path = "/progress"
        link.faults = [Break(received=0), Break(received=400), Reply("HTTP/1.1 200 OK\r\n\r\nno events")]
        done = await client.tracks.upload(song, "Watched")
        assert link.met >= 1
        assert (await client.tracks.get(done.track_id)).title == "Watched"


async def test_a_download_that_breaks_off_is_resumed_or_leaves_nothing(
    studio: Studio, song: Path, folder: Path
) -> None:
    artist = await studio.artist()
    track = await artist.publish(song)
    size = song.stat().st_size
    async with (
        broken_link(studio) as link,
        AsyncClient(api_url=link.url, token=artist.session) as client,
    ):
        link.path = "/download"
        link.faults = [Break(received=size // 2), Reply(STORM.format(429))]
        path = await client.tracks.download(track["id"], folder / "whole")
        assert (link.met, path.read_bytes()) == (2, song.read_bytes())

        link.faults = [Break(received=600)] * 3
        with pytest.raises(UnreachableError):
            await client.tracks.download(track["id"], folder / "half")
    assert [one.name for one in folder.iterdir()] == ["whole"]


@pytest.mark.parametrize(("status", "error"), [(429, RateLimitedError), (503, UnavailableError)])
async def test_a_storm_of_refusals_ends_in_success_or_a_typed_error(
    studio: Studio, status: int, error: type[FmsvcError]
) -> None:
    async with broken_link(studio) as link, AsyncClient(api_url=link.url, token="") as client:
        link.faults = [Reply(STORM.format(status))] * 2
        assert (await client.stats()).total_tracks >= 0
        link.faults = [Reply(STORM.format(status))] * 3
        with pytest.raises(error):
            await client.stats()
        assert link.faults == []


def other_type(body: str) -> str:
    return f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n{body}"


def json_of(body: str, more: int = 0) -> str:
    length = len(body) + more
    return f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (lambda: other_type("<h1>Sign in to this network</h1>"), AnswerError),
        (lambda: json_of('{"total_plays": 1, "total_'), AnswerError),
        (lambda: json_of('{"total_plays": "many"}'), AnswerError),
        (lambda: json_of('{"total_plays": 1, "total_', more=40), UnreachableError),
        (lambda: "no HTTP at all\r\n\r\n", UnreachableError),
    ],
)
async def test_an_answer_that_is_something_else_is_a_typed_error(
    studio: Studio, reply: Callable[[], str], error: type[FmsvcError]
) -> None:
    async with (
        broken_link(studio) as link,
        AsyncClient(api_url=link.url, token="", max_retries=0) as client,
    ):
        link.faults = [Reply(reply())]
        with pytest.raises(error):
            await client.stats()
