"""A worker with recordings in its store, people who are signed in to it, and a verifier of supporters."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from indexer.repo.changes import RecordChange
from readapi.audio.store import AudioStore
from readapi.state.publishing.file_keys import original_key, rendition_key
from readapi.state.publishing.managed_audio import Managed
from readapi.state.sign_in.linked_accounts import Account
from readapi.state.state import State, open_state
from schemas.audio import audio_address
from schemas.ids import Did, Handle
from tests.indexer.changes import did, put, uri
from tests.readapi.music import Music, playing, track_id
from tests.readapi.state.people import grant

OPEN = {"listening": "public", "downloads": "open", "visibility": "public"}


class Listening:
    """The worker, and what it knows of people and recordings."""

    def __init__(
        self, music: Music, state: State, supported: set[tuple[Did, Did]], asked: list[tuple[Did, Did]]
    ) -> None:
        """`asked`: the artists and viewers that the verifier was asked about."""
        self.asked = asked
        self.music = music
        self.state = state
        self.store = AudioStore.of(music.settings)
        self._supported = supported

    async def record(self, content: bytes, person: str, number: int, rendition: bytes | None = None) -> str:
        """Keep the original of somebody's nth track, and its rendition; the address for its record."""
        file_id = hashlib.sha256(content).hexdigest()
        kept = {original_key(file_id): content}
        if rendition is not None:
            kept[rendition_key(file_id, "m4a")] = rendition
        for key, held in kept.items():
            arriving = self.music.settings.data_dir / "arriving"
            arriving.write_bytes(held)
            await self.store.put(key, arriving)
        track = str(uri(person, "track", number))
        of_what = (track, did(person), file_id, "flac", "audio/flac", len(content), 2)
        await self.state.managed_audio.put(Managed(*of_what, "m4a" if rendition is not None else None))
        return audio_address(self.music.settings.base_url, file_id)

    async def song(
        self, content: bytes, person: str, number: int, rendition: bytes | None = None, **fields: Any
    ) -> RecordChange:
        """Somebody's nth track with its recording, not written yet."""
        where = await self.record(content, person, number, rendition)
        named = {"title": f"Track {number}", "fileType": "flac", "audioUrl": where, "access": OPEN}
        return put(person, "track", number, at=1000 + number, **named | fields)

    async def publish(
        self, content: bytes, person: str, number: int, rendition: bytes | None = None, **fields: Any
    ) -> int:
        """The same, shown by the worker; its id."""
        await self.music.add(await self.song(content, person, number, rendition, **fields))
        return track_id(person, number)

    async def as_(self, person: str) -> dict[str, str]:
        """What somebody's requests carry."""
        return {"Authorization": f"Bearer {await self.state.sessions.begin(await self._account(person))}"}

    async def developer_token(self, person: str) -> str:
        """A new one of somebody's, as for a music player."""
        token, _ = await self.state.developer_tokens.create(await self._account(person), "player")
        return token

    async def _account(self, person: str) -> Account:
        granted = await self.state.grants.add(grant(did(person)))
        return Account(did(person), Handle(f"{person}.example"), granted)

    async def left_open_by_leaving(self, path: str, times: int) -> int:
        """How many files are open because people went away in the middle of an answer."""
        host = self.music.address.removeprefix("http://")
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(times):
            reader, writer = await asyncio.open_connection(*host.split(":"))
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            await reader.readexactly(1000)
            writer.transport.abort()
        await asyncio.sleep(0.5)
        return len(os.listdir("/proc/self/fd")) - before

    def let_support(self, viewer: str, artist: str) -> None:
        """From now on the verifier says so."""
        self._supported.add((did(artist), did(viewer)))


@asynccontextmanager
async def listening(folder: Path, **fields: Any) -> AsyncIterator[Listening]:
    """A worker that serves for as long as the block runs."""
    supported: set[tuple[Did, Did]] = set()
    asked_about: list[tuple[Did, Did]] = []

    async def verify(request: web.Request) -> web.Response:
        asked = Did(request.query["artist"]), Did(request.query["viewer"])
        asked_about.append(asked)
        return web.json_response({"supports": asked in supported})

    async with AsyncExitStack() as stack:
        verifier = web.Application()
        verifier.router.add_get("/", verify)
        runner = web.AppRunner(verifier)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        known = {"support_verifier": f"http://127.0.0.1:{port}/", "allow_loopback": True, **fields}
        music = await stack.enter_async_context(playing(folder, **known))
        state = await stack.enter_async_context(open_state(music.settings))
        yield Listening(music, state, supported, asked_about)
