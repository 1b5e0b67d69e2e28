"""An artist's own server that does what a real one cannot be made to do: lie, fall silent, be overtaken.

And publishing in front of it, on a real state database and a real store.
"""

import asyncio
import base64
import hashlib
import itertools
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from readapi.audio.blob_cache import Blobs
from readapi.audio.source import OpenFile
from readapi.audio.store import AudioStore
from readapi.errors import PdsUnavailable
from readapi.index.indexer_client import IndexerNudges
from readapi.index.lookups import Index
from readapi.pds.repo import Author, Pds, Record, Value
from readapi.pds.writing import Writing
from readapi.pds.xrpc import Swapped, Xrpc
from readapi.publishing.access.change_track import AccessChange
from readapi.publishing.access.policies import Policies
from readapi.publishing.access.run_job import JobWork
from readapi.publishing.originals.placement import Placement
from readapi.publishing.originals.references import Originals, managed_of
from readapi.publishing.slots import JobSlots
from readapi.publishing.uploads.album_commit import AlbumCommit
from readapi.publishing.uploads.examine import UploadExamination
from readapi.publishing.uploads.publish import UploadRun
from readapi.publishing.uploads.record_home import RecordLocation
from readapi.publishing.uploads.revisions import Versions
from readapi.publishing.worker import Worker
from readapi.spaces.repos import SpaceRepos
from readapi.state.publishing.file_keys import original_key, received_audio
from readapi.state.publishing.jobs import Job
from readapi.state.publishing.uploads import Audio, Kind, Upload, Wanted
from readapi.state.state import State
from schemas.collections import Collections
from schemas.ids import AtUri, Cid, Did, Nsid, Rkey
from schemas.publishing import TemplateAccess
from schemas.settings import Settings
from tests.readapi.audio.sounds import sound
from tests.readapi.state.people import MARA
from tests.readapi.state.publishing.made import GRANT

SETTINGS = Settings()
HOME = "https://music.example"
MADE = {"title": "Song", "artist": "Mara", "fileType": "wav", "createdAt": "2026-01-02T03:04:05.000Z"}


def track(number: int, did: Did = MARA) -> AtUri:
    """One of somebody's tracks."""
    return AtUri.parse(f"at://{did}/fm.svc.track/3kaaaaaaaaa2{number}")


TRACK = track(2)


def access(listening: str = "public", downloads: str = "open", visibility: str = "public") -> TemplateAccess:
    """A snapshot of access."""
    said = {"listening": listening, "downloads": downloads, "visibility": visibility}
    return TemplateAccess.model_validate(said)


def digest(content: bytes) -> str:
    """The name of a file."""
    return hashlib.sha256(content).hexdigest()


def blob(file_id: str, size: int) -> Value:
    """What a record says of a file at the server, whether it is there or not."""
    hashed = b"\x01\x55\x12\x20" + bytes.fromhex(file_id)
    cid = "b" + base64.b32encode(hashed).decode().lower().rstrip("=")
    return {"$type": "blob", "ref": {"$link": cid}, "mimeType": "audio/wav", "size": size}


@dataclass
class OwnServer:
    """Records and blobs. `before_put` is called once, before the next write; what it raises is the answer.

    `stalled`: who gets no answer until it `goes_on`.
    """

    folder: Path
    records: dict[tuple[str, str, str], Record] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)
    before_put: Callable[[], None] = lambda: None
    is_silent: bool = False
    stalled: set[Did] = field(default_factory=set)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    is_shown: bool = True
    asked_to_show: list[list[AtUri]] = field(default_factory=list)
    versions: "itertools.count[int]" = field(default_factory=itertools.count)

    def write(self, uri: AtUri, value: Value) -> Record:
        """By whoever can."""
        record = Record(uri, Cid(f"version-{next(self.versions)}"), value)
        self.records[uri.did, uri.collection, uri.rkey] = record
        return record

    def value(self, uri: AtUri = TRACK) -> Value:
        return self.records[uri.did, uri.collection, uri.rkey].value

    async def get(self, author: Author, collection: Nsid, rkey: Rkey) -> Record | None:
        if self.is_silent:
            raise PdsUnavailable
        if author.did in self.stalled:
            await self.goes_on.wait()
        return self.records.get((author.did, collection, rkey))

    async def put(
        self, author: Author, collection: Nsid, rkey: Rkey, value: Value, *, swap: Cid | None
    ) -> Record:
        before_put, self.before_put = self.before_put, lambda: None
        before_put()
        if self.records[author.did, collection, rkey].cid != swap:
            raise Swapped
        return self.write(AtUri(author.did, collection, rkey), value)

    async def upload(self, author: Author, source: Path, mime_type: str) -> Value:
        content = source.read_bytes()
        told = blob(digest(content), len(content))
        self.blobs[told["ref"]["$link"]] = content
        return told

    async def open(self, did: Did, cid: Cid) -> OpenFile:
        """A blob, as everybody gets it."""
        self.opened.append(cid)
        if cid not in self.blobs:
            raise PdsUnavailable
        path = self.folder / "blob"
        path.write_bytes(self.blobs[cid])
        return OpenFile(path)

    async def shown(self, uris: Iterable[AtUri]) -> bool:
        """Does the index show what was written?"""
        self.asked_to_show.append(list(uris))
        return self.is_shown


class Publishing:
    """What works at jobs and uploads, in front of that server."""

    def __init__(
        self,
        state: State,
        folder: Path,
        base_url: str = HOME,
        server: OwnServer | None = None,
        settings: Settings = SETTINGS,
    ) -> None:
        self.state = state
        self.folder = folder
        self.server = server or OwnServer(folder)
        self.store = AudioStore.of(Settings(data_dir=folder))
        self.originals = Originals(state, self.store)
        pds, blobs = cast(Pds, self.server), cast(Blobs, self.server)
        writing = Writing(pds, cast(IndexerNudges, self.server), Collections(), shown_seconds=0.1)
        self.writing = writing
        self.placing = Placement(pds, self.originals, base_url)
        self.versions = Versions(state.revisions, self.originals, blobs, base_url)
        repos = SpaceRepos(cast(Xrpc, self.server), Collections().space)
        homes = RecordLocation(pds, writing, AlbumCommit(pds, writing), repos, state.space_tracks)
        self.changing = AccessChange(pds, writing, self.originals, self.placing, blobs, base_url)
        self.uploading = UploadRun(
            self.store, self.originals, self.placing, self.versions, homes, pds, writing
        )

        self.settings = settings
        self.job_work = JobWork(settings, state, self.changing, writing)

    @asynccontextmanager
    async def working(self, lanes: JobSlots | None = None) -> AsyncIterator[None]:
        """A job worker, for as long as the block runs."""
        policies, index = cast(Policies, None), cast(Index, None)  # of what is replaced they are not asked
        examining = UploadExamination(self.store, policies, index, self.writing)
        worker = Worker(self.settings, self.state, examining, self.uploading, self.job_work, lanes)
        running = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def settled(self, upload: Upload) -> Upload:
        """What became of it, once what came with it is dropped."""
        async with asyncio.timeout(20):
            while not (found := await self.state.uploads.find(upload.id) or upload).is_settled:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            while await self.store.size(received_audio(upload.id)) is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return found

    async def job_done(self, job_id: str) -> Job:
        """What became of it."""
        async with asyncio.timeout(20):
            while (found := await self.state.jobs.find(job_id)) is None or found.completed_at is None:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return found

    def sound(self, seconds: float) -> tuple[Audio, bytes]:
        """A file, and what it holds."""
        path = sound(self.folder / f"{seconds}.wav", "wav", seconds)
        content = path.read_bytes()
        return Audio(digest(content), len(content), "wav", "audio/wav", round(seconds)), content

    async def keep(self, uri: AtUri, audio: Audio, content: bytes, who: TemplateAccess) -> None:
        """A track whose original is in the private store."""
        await self.put(original_key(audio.file_id), content)
        managed = managed_of(uri, audio)
        await self.originals.own(managed)
        told = {"audioUrl": f"{HOME}/audio/{audio.file_id}", "access": who.model_dump()}
        self.server.write(uri, {"$type": uri.collection, **MADE, **told})

    def show(self, uri: AtUri, audio: Audio, content: bytes) -> None:
        """A track whose audio is at the server."""
        told = blob(audio.file_id, audio.bytes)
        self.server.blobs[told["ref"]["$link"]] = content
        self.server.write(uri, {"$type": uri.collection, **MADE, "audioBlob": told})

    async def received(
        self, uri: AtUri, audio: Audio, content: bytes, published: TemplateAccess | None = None
    ) -> Upload:
        """An upload that waits; of a version that was `published` like that, or of a file."""
        upload_id = f"upload-{next(self.server.versions)}"
        kind: Kind = "replace" if published is None else "restore"
        if published is None:
            await self.put(received_audio(upload_id), content)
        return await self.state.uploads.put(
            upload_id, uri.did, GRANT, kind, uri, Wanted(audio, access=published)
        )

    async def put(self, key: str, content: bytes) -> None:
        """A file in the store."""
        path = self.folder / "arriving"
        path.write_bytes(content)
        await self.state.stored_files.expect(key)
        await self.store.put(key, path)

    async def has(self, audio: Audio) -> bool:
        """Is the original in the private store, and not in the trash of it?"""
        is_there = await self.store.size(original_key(audio.file_id)) is not None
        return is_there and not await self.state.stored_files.of_file(audio.file_id)


async def silence(*_: Any) -> None:
    """Nobody listens to how far it is."""
