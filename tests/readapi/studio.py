"""Artists in front of the whole service, on a real PDS: they publish, and look at what became of it."""

import asyncio
import itertools
import json
import re
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp

from schemas import data_folder
from schemas.collections import Collections
from schemas.ids import list_id
from tests.network import server
from tests.network.pds import Account, Json, Ref, XrpcError
from tests.network.person import Person
from tests.network.testnet import Testnet
from tests.patience import PATIENCE_SECONDS
from tests.readapi.door import Door
from tests.readapi.music import UNLIMITED, Reply

COLLECTIONS = Collections()
MADE = "2026-01-02T03:04:05.000Z"
NUMBERS = itertools.count(1)


def template(listening: str = "public", downloads: str = "open", visibility: str = "public") -> Json:
    """A complete template that attaches no rights."""
    access = {"listening": listening, "downloads": downloads, "visibility": visibility}
    return {"access": access, "attach_rights": False}


@dataclass(frozen=True, slots=True)
class Artist:
    """Somebody who is signed in, and their own server to look into."""

    door: Door
    account: Account
    session: str = field(repr=False)

    @property
    def did(self) -> str:
        return self.account.did

    async def ask(self, method: str, path: str, sent: Any = None, **headers: str) -> Reply:
        """One request in their name."""
        return await self.door.ask(method, path, sent, self.session, **headers)

    async def send(
        self, method: str, path: str, audio: Path | bytes | None = None, **fields: str | bytes
    ) -> Reply:
        """A form with parts; `audio` and what is bytes are files."""
        form = aiohttp.FormData(default_to_multipart=True)
        for name, value in fields.items():
            form.add_field(name, value, filename=name if isinstance(value, bytes) else None)
        if audio is not None:
            file = audio.open("rb") if isinstance(audio, Path) else audio
            form.add_field("file", file, filename="a.bin", content_type="application/octet-stream")
        headers = {"Authorization": f"Bearer {self.session}"}
        url = self.door.address + path
        async with self.door.client.request(method, url, data=form, headers=headers) as answer:
            return Reply(answer.status, answer.headers, await answer.json())

    async def shows(self, path: str, holds: Callable[[Reply], bool]) -> Any:
        """Ask until the answer is such; its content."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                reply = await self.ask("GET", path)
                if holds(reply):
                    return reply.json
                await asyncio.sleep(0.05)

    async def upload(self, audio: Path | bytes, **fields: str | bytes) -> Json:
        """Publish, and wait for the end of it."""
        reply = await self.send("POST", "/tracks/", audio, **{"title": "Song", **fields})
        assert reply.status == 202, reply.json
        return await self.settled(reply.json["upload_id"])

    async def publish(self, audio: Path, **fields: str | bytes) -> Json:
        """The same, and the track that came of it."""
        done = await self.upload(audio, **fields)
        assert done["status"] == "completed", done
        return await self.track(done["track_id"])

    async def settled(self, upload_id: str) -> Json:
        """The upload, when it is done."""
        return await self._done(f"/tracks/uploads/{upload_id}")

    async def job(self, reply: Reply) -> Json:
        """The job that was queued, when it is done."""
        assert reply.status == 202, reply.json
        return await self.job_done(reply.json["job_id"])

    async def job_done(self, job_id: str) -> Json:
        return await self._done(f"/tracks/publishing-jobs/{job_id}")

    async def track(self, track_id: int) -> Json:
        """The track as the API shows it to its artist."""
        return dict(await self.shows(f"/tracks/{track_id}", is_there))

    async def track_at(self, uri: str) -> Json:
        """The track that a record is, once the API shows it."""
        return dict(await self.shows(f"/tracks/by-uri?uri={quote(uri, safe='')}", is_there))

    async def album_at(self, uri: str, tracks: int) -> str:
        """The id of the album that a list record is, once the API shows it with so many tracks."""
        album_id = str(list_id(uri))
        await self.shows(
            f"/albums/by-id/{album_id}",
            lambda reply: reply.status == 200 and len(reply.json["tracks"]) == tracks,
        )
        return album_id

    async def make_album(self, name: str, **more: Any) -> str:
        """A new album, once the API shows it; its id."""
        reply = await self.ask("POST", "/albums/", {"title": name, **more})
        assert reply.status == 200, reply.json
        return str((await self.shows(f"/albums/by-id/{reply.json['id']}", is_there))["metadata"]["id"])

    async def write_track(self, title: str = "Song", **fields: Any) -> tuple[int, Ref]:
        """A track that another program wrote for them, once it is shown; its id and record."""
        required = {"title": title, "artist": "An Artist", "fileType": "mp3", "createdAt": MADE}
        ref = await self.account.create_record(COLLECTIONS.track, required | fields)
        return (await self.track_at(ref.uri))["id"], ref

    async def record(self, uri: str) -> Json:
        """A record as their own server has it now."""
        did, collection, rkey = uri.removeprefix("at://").split("/")
        where = {"repo": did, "collection": collection, "rkey": rkey}
        answer = await self.account.pds.get("com.atproto.repo.getRecord", self.account.login, **where)
        return dict(answer["value"])

    async def has_record(self, uri: str) -> bool:
        try:
            await self.record(uri)
        except XrpcError:
            return False
        return True

    async def listed(self, collection: str) -> list[Json]:
        """All records of a kind with their addresses and hashes, the oldest first."""
        where = {"repo": self.did, "collection": collection, "limit": "100", "reverse": "true"}
        found: list[Json] = []
        while True:
            answer = await self.account.pds.get("com.atproto.repo.listRecords", self.account.login, **where)
            found += answer["records"]
            if "cursor" not in answer:
                return found
            where["cursor"] = answer["cursor"]

    async def records(self, collection: str) -> list[Json]:
        """What these records say."""
        return [record["value"] for record in await self.listed(collection)]

    async def has_blob(self, cid: str) -> bool:
        """Does their server still give it out?"""
        try:
            await self.account.pds.get("com.atproto.sync.getBlob", did=self.did, cid=cid)
        except XrpcError:
            return False
        except (aiohttp.ContentTypeError, UnicodeDecodeError):
            return True
        return True

    async def _done(self, path: str) -> Json:
        def is_done(reply: Reply) -> bool:
            assert reply.status == 200, reply.json
            return reply.json["status"] in ("completed", "failed")

        return dict(await self.shows(path, is_done))


@dataclass(frozen=True, slots=True)
class Studio:
    """The whole service, and its folder."""

    net: Testnet
    door: Door
    data_dir: Path
    pid: int = 0

    async def artist(self, *, profile: bool = True, granting: str | None = None) -> Artist:
        """Somebody new who signed in, and granted what was asked for or less."""
        account = await self.net.pds[0].create_account(f"musician-{next(NUMBERS)}.test")
        if profile:
            await account.create_record(
                COLLECTIONS.profile, {"displayName": "Mara", "createdAt": MADE}, "self"
            )
        return Artist(self.door, account, await self.door.sign_in(Person(account), granting))

    def stored(self, folder: str) -> list[str]:
        """The files in a folder of the audio store, but for what lies in the trash."""
        where, trash = self.data_dir / "audio", self._trash()
        files = [path for path in (where / folder).rglob("*") if path.is_file()]
        kept = [path for path in files if str(path.relative_to(where)) not in trash]
        return sorted(str(path.relative_to(where / folder)) for path in kept)

    def _trash(self) -> set[str]:
        """What was released, as the state database has it."""
        with closing(sqlite3.connect(self.data_dir / data_folder.STATE_DATABASE)) as connection:
            asked = "select key from stored_files where released_at is not null and file_id is not null"
            return {key for (key,) in connection.execute(asked)}


@asynccontextmanager
async def open_studio(net: Testnet, data_dir: Path, **more: str) -> AsyncIterator[Studio]:
    """Run everything for as long as the block runs."""
    variables = {
        **server.settings(net, data_dir, server.free_port()),
        **{f"FMSVC_{name.upper()}": value for name, value in UNLIMITED.items()},
        "FMSVC_LOG_LEVEL": "warning",
        "FMSVC_CLAIM_SECONDS": "2",
        "FMSVC_SQL": "true",
        **more,
    }
    async with (
        server.running_server(variables) as running,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client,
    ):
        await ready(running)
        yield Studio(net, Door(running.url, client), data_dir, running.process.pid)


async def ready(running: server.Server) -> None:
    """Wait until there is something to ask."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await running.ask("/ready"))[0] != 200:  # noqa: ASYNC110  # it sets no event of ours
            await asyncio.sleep(0.05)


def is_there(reply: Reply) -> bool:
    """Whatever was asked for is shown."""
    return reply.status == 200


def read_events(text: str) -> list[tuple[int, Json]]:
    """Server-sent events: their ids and what they say."""
    found = re.findall(r"id: (\d+)\ndata: (.*)\n\n", text)
    return [(int(number), json.loads(said)) for number, said in found]
