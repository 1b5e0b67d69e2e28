"""A published catalogue: records in real stores, a worker that serves them, and a server for their blobs."""

import dataclasses
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from aiohttp import web
from sqlalchemy import select

from indexer.catalog.published.snapshots import Snapshots
from indexer.catalog.tables.images import ImageFact
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.events import IdentityFact
from indexer.repo.changes import RecordChange
from indexer.search.index import SearchIndex
from readapi.state.db.tables import play_counts
from readapi.state.sign_in.linked_accounts import Account
from readapi.state.state import open_state
from schemas import data_folder, datetimes
from schemas.ids import Cid, Handle, Rkey, checked_id, list_id, tid_at
from schemas.settings import Settings
from tests import documents
from tests.indexer.changes import album, comment, did, like, put, uri
from tests.network.media import cover, tone
from tests.readapi.serving import serving
from tests.readapi.state.people import grant

TONE = tone(30, 440)
BRIEF_TONE = tone(2, 440)
COVER = cover(64, 48, (20, 60, 80), (200, 180, 140))
MARKUP = "</title><script>alert(1)</script> \"quoted\" & 'so'"

SLOW, HARBOUR, SUPPORTERS, UNLISTED, PRIVATE, HOSTILE, BROKEN, BRIEF = range(1, 9)
SUPPORT = "https://support.example/mara"
LABELS = {
    SLOW: "Slow Water", HARBOUR: "Harbour Lights", SUPPORTERS: "For Supporters", UNLISTED: "Unlisted Song",
    PRIVATE: "Private Song", HOSTILE: MARKUP, BROKEN: "Lost Recording", BRIEF: "Brief",
}  # fmt: skip


@dataclass
class Published:
    """Where everything is."""

    address: str
    servers: str
    client: aiohttp.ClientSession
    settings: Settings

    def track(self, number: int) -> str:
        """What addresses call one of mara's tracks."""
        return checked_id(str(uri("mara", "track", number)))

    def list(self, person: str) -> str:
        return str(list_id(str(uri(person, "list"))))

    def get(self, path: str, **options: object) -> aiohttp.client._RequestContextManager:
        return self.client.get(self.address + path, allow_redirects=False, **options)  # type: ignore[arg-type]

    async def session(self, person: str) -> str:
        """The cookie of somebody who has signed in."""
        async with open_state(self.settings) as state:
            account = Account(
                did(person), Handle(f"{person}.example"), await state.grants.add(grant(did(person)))
            )
            return await state.sessions.begin(account)

    async def plays(self, number: int) -> int:
        """How often one of mara's tracks was played."""
        query = select(play_counts.c.plays).where(
            play_counts.c.track_uri == str(uri("mara", "track", number))
        )
        async with open_state(self.settings) as state, state.database.reading() as connection:
            return (await connection.execute(query)).scalar_one_or_none() or 0

    async def text(self, path: str) -> str:
        async with self.get(path) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.text()


@asynccontextmanager
async def published(folder: Path) -> AsyncIterator[Published]:
    """Write the records, index them, and serve them for as long as the block runs."""
    sock = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{sock.getsockname()[1]}"
    async with _blobs() as servers, aiohttp.ClientSession() as client:
        texts = folder / "texts"
        texts.mkdir()
        for name in ("terms", "privacy"):
            (texts / f"{name}.txt").write_text(f"# Our {name}\n\nWe ask nobody for more than we need.")
        known = {"plc_url": servers, "allow_loopback": True, "log_level": "error", "sql": True}
        known |= {"texts_dir": texts, "admins": (did("ben"),)}
        settings = Settings(data_dir=folder, public_url=address, rate_limit="100000/minute", **known)
        with _stores(settings) as writer:
            writer.write(Batch(changes=_records(), identities=_identities(servers), images=_images()))
        async with serving(settings, sock):
            yield Published(address, servers, client, settings)


def _records() -> list[RecordChange]:
    access = {"downloads": "open", "visibility": "public", "listening": "public"}
    changed = {
        SLOW: {
            "image": documents.blob("image/png", len(COVER), COVER),
            "tags": ["Ambient"],
            "description": "Recorded in one evening.\nTape.",
        },
        SUPPORTERS: {"access": access | {"listening": "supporters"}},
        UNLISTED: {"access": access | {"visibility": "unlisted"}},
        PRIVATE: {"access": access | {"visibility": "private", "listening": "space"}},
        BROKEN: {"audioBlob": documents.blob("audio/wav", 9, b"nowhere")},
        BRIEF: {"audioBlob": documents.blob("audio/wav", len(BRIEF_TONE), BRIEF_TONE), "duration": 2},
    }
    sound = {"audioBlob": documents.blob("audio/wav", len(TONE), TONE), "fileType": "wav", "duration": 30}
    tracks = [
        put("mara", "track", number, at=number, **{**sound, "title": title, **changed.get(number, {})})
        for number, title in LABELS.items()
    ]
    held = [uri("mara", "track", number) for number in (SLOW, SUPPORTERS, HARBOUR, PRIVATE)]
    cover_blob = documents.blob("image/png", len(COVER), COVER)
    picked = [uri("mara", "track", number) for number in (HARBOUR, UNLISTED, HOSTILE)]
    return [
        *tracks,
        put(
            "mara",
            "profile",
            at=20,
            displayName="Mara Lindqvist",
            bio="Writes songs by the sea.",
            supportUrl=SUPPORT,
        ),
        album("mara", held, at=21, name="Ninety Nights", description="For the dark half of the year."),
        album("ben", picked, at=22, name="Evening", listType="playlist"),
        comment("ben", uri("mara", "track", SLOW), at=25, text="Lovely from here on", timestampMs=20_000),
        like("ben", uri("mara", "track", SLOW), at=26),
        put("nameless", "track", at=23, title="Anonymous"),
        put("jonas", "profile", at=27, displayName="Jonas Tanaka"),
        put("jonas", "track", at=28, **sound, title="Paper Lantern", tags=["Jazz"]),
        _of_today(like("ben", uri("jonas", "track"), 1, at=29, createdAt=datetimes.render(datetimes.now()))),
        album("nameless", [uri("nameless", "track")], at=24, name="First", image=cover_blob),
    ]


def _of_today(change: RecordChange) -> RecordChange:
    """The same, written today: it is among the newest week's."""
    now = tid_at(datetimes.now())
    return dataclasses.replace(change, rkey=Rkey(now), rev=now)


def _identities(servers: str) -> list[IdentityFact]:
    return [
        IdentityFact(did("mara"), "mara.example", servers),
        IdentityFact(did("ben"), "ben.example", servers),
        IdentityFact(did("nameless"), "handle.invalid", servers),
        IdentityFact(did("jonas"), "jonas.example", servers),
    ]


def _images() -> list[ImageFact]:
    return [ImageFact(Cid(documents.link(COVER).encode()), 64, 48)]


@contextmanager
def _stores(settings: Settings) -> Iterator[Writer]:
    """The catalogue to write to; indexed and published when the block ends."""
    writer = Writer.open(settings)
    try:
        yield writer
        index = SearchIndex.open(settings.data_dir / data_folder.SEARCH, settings.base_url)
        with writer.reader() as con:
            while index.follow(con) < writer.op:
                pass
        index.close()
        Snapshots(settings, writer).publish()
    finally:
        writer.close()


@asynccontextmanager
async def _blobs() -> AsyncIterator[str]:
    """A server that gives out blobs as a PDS does: to everybody, and never a part of one.

    It is the directory too, in which it is everybody's server.
    """
    files = {
        documents.link(TONE).encode(): (TONE, "audio/wav"),
        documents.link(BRIEF_TONE).encode(): (BRIEF_TONE, "audio/wav"),
        documents.link(COVER).encode(): (COVER, "image/png"),
    }

    async def blob(request: web.Request) -> web.Response:
        body, media_type = files.get(request.query["cid"], (None, ""))
        if body is None:
            raise web.HTTPBadRequest(headers={"Access-Control-Allow-Origin": "*"})
        headers = {"Access-Control-Allow-Origin": "*", "X-Content-Type-Options": "nosniff"}
        return web.Response(body=body, content_type=media_type, headers=headers)

    async def document(request: web.Request) -> web.Response:
        here = f"http://{request.host}"
        service = {"id": "#atproto_pds", "type": "AtprotoPersonalDataServer", "serviceEndpoint": here}
        return web.json_response({"id": request.match_info["did"], "service": [service]})

    app = web.Application()
    app.router.add_get("/xrpc/com.atproto.sync.getBlob", blob)
    app.router.add_get("/{did}", document)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield "http://{}:{}".format(*runner.addresses[0][:2])
    finally:
        await runner.cleanup()
