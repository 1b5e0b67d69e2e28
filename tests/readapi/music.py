"""A little music in real stores, and a real worker that serves it: both can be asked, and added to."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from aiohttp import web

from indexer.catalog.published.snapshots import Snapshots
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.events import IdentityFact
from indexer.repo.changes import RecordChange
from indexer.search.index import SearchIndex
from readapi.processes.stores import Stores
from schemas import data_folder
from schemas.ids import list_id, record_id
from schemas.labels import Label
from schemas.settings import Settings
from tests import documents
from tests.indexer import empty_catalogues
from tests.indexer.changes import album, comment, did, like, put, uri
from tests.indexer.running import until
from tests.readapi.serving import serving

NOWHERE = "http://127.0.0.1:9"  # the discard port: nothing listens there
PLENTY = "1000000/minute"
UNLIMITED = {
    "rate_limit": PLENTY,
    "auth_rate_limit": PLENTY,
    "upload_rate_limit": PLENTY,
    "sql_rate_limit": PLENTY,
    "picture_rate_limit": PLENTY,
}
PEOPLE = {"mara": "mara.example", "ben": "ben.example", "ida": "ida.example", "lost": "handle.invalid"}
PUBLIC_TRACKS = 9  # of mara's; then one each that is unlisted, private, for supporters
UNLISTED, PRIVATE, SUPPORTERS = 10, 11, 12
FRESH = {"lag_seconds": 0.5, "source": {"name": "wss://relay.example", "connected": True}}
PICTURE = documents.blob("image/png", 900, b"cover")


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: Any
    json: Any


class Music:
    """The stores being written, the worker being asked."""

    def __init__(self, settings: Settings, address: str) -> None:
        self.settings = settings
        self.address = address
        empty_catalogues.begin(settings.data_dir)
        self._writer = Writer.open(settings)
        self._index = SearchIndex.open(settings.data_dir / data_folder.SEARCH, settings.base_url)
        self._snapshots = Snapshots(settings, self._writer)
        self.stores: Stores
        self.client: aiohttp.ClientSession

    def write(self, *changes: RecordChange, identities: tuple[IdentityFact, ...] = ()) -> None:
        """Commit, index, publish."""
        self._writer.write(Batch(changes=list(changes), identities=list(identities)))
        self._show()

    async def take_down(self, *subjects: object) -> None:
        """What an indexer does with takedowns of these subjects alone; waits until the worker has seen it."""
        self._writer.write(Batch(takedowns=frozenset(map(str, subjects))))
        self._show()
        await self._seen()

    async def label(self, *labels: Label) -> None:
        """What an indexer does with labels; waits until the worker has seen it."""
        self._writer.write(Batch(labels=list(labels)))
        self._show()
        await self._seen()

    def _show(self) -> None:
        with self._writer.reader() as con:
            while self._index.follow(con) < self._writer.op:
                pass
        self._snapshots.publish()

    async def add(self, *changes: RecordChange) -> None:
        """Write, and wait until the worker has seen it."""
        self.write(*changes)
        await self._seen()

    async def _seen(self) -> None:
        newest = self._snapshots.current.readlink().name
        await until(lambda: self.stores.index.op >= self._writer.op and self.stores.catalog.version == newest)

    async def get(self, path: str, **headers: str) -> Reply:
        """Ask the worker."""
        return await self.send("GET", path, **headers)

    async def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        url = self.address + path
        async with self.client.request(method, url, headers=named, data=body) as answer:
            is_json = answer.content_type == "application/json" and method != "HEAD" and answer.status != 304
            read = answer.json() if is_json else answer.text(errors="replace")  # recordings are no text
            return Reply(answer.status, answer.headers, await read)

    async def pages(self, path: str, member: str) -> list[list[Any]]:
        """Every page of a list, by following its cursors."""
        found, cursor = [], ""
        while True:
            reply = await self.get(path + cursor)
            assert reply.status == 200, reply.json
            found.append(reply.json[member])
            assert reply.json["has_more"] is (reply.json["next_cursor"] is not None)
            if not reply.json["has_more"]:
                return found
            cursor = ("&" if "?" in path else "?") + "cursor=" + reply.json["next_cursor"]

    def export(self) -> None:
        """Export the open data."""
        self._snapshots.export()

    def close(self) -> None:
        self._index.close()
        self._writer.close()


@asynccontextmanager
async def reporting(folder: Path, report: dict[str, Any]) -> AsyncIterator[None]:
    """An indexer's control socket that tells one report."""

    async def health(_request: web.Request) -> web.Response:
        return web.json_response(report)

    app = web.Application()
    app.router.add_get("/health", health)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.UnixSite(runner, str(folder / data_folder.CONTROL_SOCKET)).start()
    try:
        yield
    finally:
        await runner.cleanup()


@asynccontextmanager
async def playing(folder: Path, report: dict[str, Any] = FRESH, **fields: Any) -> AsyncIterator[Music]:
    """Fill the stores and serve them for as long as the block runs, beside an indexer that reports this."""
    sock = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{sock.getsockname()[1]}"
    defaults = {**UNLIMITED, "log_level": "error", "public_url": address}
    defaults |= {"plc_url": NOWHERE, "handle_resolver": NOWHERE}
    settings = Settings(data_dir=folder, **{**defaults, **fields})
    music = Music(settings, address)
    try:
        music.write(*songs(), *lists(), *reactions(), identities=_identities())
        async with (
            reporting(folder, report),
            serving(settings, sock) as music.stores,
            aiohttp.ClientSession() as music.client,
        ):
            yield music
    finally:
        music.close()


def songs() -> list[RecordChange]:
    """Mara's: public ones, the later the newer; then one of each other kind. Ben's: one."""
    special = {
        UNLISTED: {"access": _access(visibility="unlisted")},
        PRIVATE: {"access": _access(visibility="private", listening="space")},
        SUPPORTERS: {"access": _access(listening="supporters", downloads="supporters")},
    }
    plain = {"image": PICTURE, "tags": ["Ambient", "a/b"], "duration": 60, "audioBlob": documents.blob()}
    return [
        put("mara", "track", n, at=n, title=f"Song {n}", **{**plain, **special.get(n, {})})
        for n in range(1, SUPPORTERS + 1)
    ] + [
        put(
            "ben",
            "track",
            30,
            at=30,
            document=documents.full("track") | {"access": _access(), "title": "Full"},
        ),
        put("mara", "profile", at=31, displayName="Mara", bio="Songs", avatar=PICTURE),
    ]


def lists() -> list[RecordChange]:
    """An album of Mara's, and a playlist of Ben's that holds what it may not show, too."""
    held = [uri("mara", "track", n) for n in (3, 1, UNLISTED, PRIVATE)]
    return [
        album("mara", held, 1, at=32, name="First Light", description="The first."),
        album("ben", held, 2, at=33, name="Evening", listType="playlist"),
    ]


def reactions() -> list[RecordChange]:
    """Song 2 is liked by three, song 3 by one; song 2 is spoken of twice."""
    two, three = uri("mara", "track", 2), uri("mara", "track", 3)
    return [
        like("ben", two, 40, at=40),
        like("ida", two, 41, at=41),
        like("lost", two, 42, at=42),
        like("ida", three, 43, at=43),
        like("ida", uri("mara", "track", PRIVATE), 44, at=44),
        comment("ida", two, 4, at=45, timestampMs=9000, text="later"),
        comment("ben", two, 5, at=46, timestampMs=1000, text="early"),
    ]


def track_id(person: str, number: int) -> int:
    return record_id(str(uri(person, "track", number)))


def public_list_id(person: str, number: int) -> str:
    return str(list_id(str(uri(person, "list", number))))


def _access(**fields: str) -> dict[str, str]:
    return {"listening": "public", "downloads": "open", "visibility": "public", **fields}


def _identities() -> tuple[IdentityFact, ...]:
    return tuple(IdentityFact(did(name), handle, "https://pds.example") for name, handle in PEOPLE.items())
