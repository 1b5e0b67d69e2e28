"""kill -9 of the API, the job worker and the renderer, at any instant, loses no upload and no job.

Nor does it make anything twice, or leave files that are nobody's. PUBLISHING_KILLS sets how many times (4),
and from 20 on albums have 50 tracks; SEED repeats a run.
"""

import asyncio
import contextlib
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from sqlalchemy import Select, select

from readapi.audio.store import AudioStore
from readapi.http.limits.disk_reservations import RECEIVING
from readapi.publishing.originals.references import Originals
from readapi.publishing.originals.sweep import OrphanSweep
from readapi.state.db.claims import UNFINISHED
from readapi.state.db.publishing_tables import uploads
from readapi.state.publishing.stored_files import TRASH
from readapi.state.state import State, open_state
from schemas.audio import named_file
from schemas.ids import tid_at
from schemas.settings import Settings
from tests.network import server
from tests.network.pds import Write
from tests.network.server import Server, free_port, running_server
from tests.network.testnet import Testnet
from tests.patience import PATIENCE_SECONDS
from tests.readapi.audio.sounds import sound
from tests.readapi.door import Door
from tests.readapi.state.people import HandClock
from tests.readapi.studio import COLLECTIONS, Artist, Json, Studio, ready, template

KILLS = int(os.environ.get("PUBLISHING_KILLS", "4"))
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
TRACKS = 50 if KILLS >= 20 else 8
BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MADE = "2026-01-02T03:04:05Z"
PROTECTED = '{"access":{"listening":"public","downloads":"off","visibility":"public"},"attach_rights":false}'

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(900)]


class Part:
    """One program of the service, to be killed and started again."""

    def __init__(self, variables: dict[str, str], command: str) -> None:
        self._variables = variables
        self._command = command
        self._running = AsyncExitStack()
        self.server: Server

    async def start(self) -> None:
        self.server = await self._running.enter_async_context(running_server(self._variables, self._command))

    async def kill(self) -> None:
        self.server.process.send_signal(signal.SIGKILL)
        await self.stop()

    async def stop(self) -> None:
        await self._running.aclose()


class Programs:
    """The service in parts; the indexer is left alone."""

    def __init__(self, net: Testnet, data_dir: Path) -> None:
        port = free_port()
        self.variables = {
            **server.settings(net, data_dir, port),
            "FMSVC_RATE_LIMIT": "1000000/minute",
            "FMSVC_AUTH_RATE_LIMIT": "1000000/minute",
            "FMSVC_UPLOAD_RATE_LIMIT": "1000000/minute",
            "FMSVC_LOG_LEVEL": "error",
            "FMSVC_CLAIM_SECONDS": "1",
            "FMSVC_JOB_WORKERS": "2",
            "FMSVC_JOB_TRIES": "100",  # so many of our kills may hit the same file
        }
        self.address = f"http://127.0.0.1:{port}"
        parts = (Part(self.variables, name) for name in ("index", "snapshots", "api", "work"))
        self.index, self.snapshots, self.api, self.work = parts

    async def kill(self, dice: random.Random) -> None:
        """One of the three, and start it again."""
        victim = dice.choice(("api", "work", "work", "renderer"))
        if victim == "renderer":
            for number in _renderers(self.work.server.process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            return
        part = self.api if victim == "api" else self.work
        await part.kill()
        await part.start()


@asynccontextmanager
async def running(net: Testnet, data_dir: Path) -> AsyncIterator[tuple[Programs, Studio]]:
    """Indexer and API; the worker is started by whoever wants it."""
    programs = Programs(net, data_dir)
    async with AsyncExitStack() as stack, aiohttp.ClientSession() as client:
        for part in (programs.index, programs.snapshots, programs.api, programs.work):
            stack.push_async_callback(part.stop)
        await programs.index.start()
        await programs.snapshots.start()
        await programs.api.start()
        await ready(programs.api.server)
        yield programs, Studio(net, Door(programs.address, client), data_dir)


async def test_killing_loses_nothing_and_makes_nothing_twice(net: Testnet, tmp_path: Path) -> None:
    """Every acknowledged upload is one record, every job reports every track once, no file is nobody's."""
    print(f"SEED={SEED}")
    dice = random.Random(SEED)
    async with running(net, tmp_path / "data") as (programs, studio):
        await programs.work.start()
        mara = await studio.artist()
        album = await _album(mara, tmp_path)
        uploads, jobs = Uploads(mara, tmp_path), Jobs(mara, album)
        stop = asyncio.Event()
        load = [asyncio.create_task(_again(part, stop)) for part in (uploads, jobs)]
        for _ in range(KILLS):
            await asyncio.sleep(dice.uniform(0.2, 2.5))
            await programs.kill(dice)
        await ready(programs.api.server)
        stop.set()
        await asyncio.gather(*load)
        await _idle(studio)

        await uploads.check()
        await jobs.check()
        await _check_store(programs, studio, mara)


async def test_what_the_artists_server_refuses_leaves_nothing_behind(net: Testnet, tmp_path: Path) -> None:
    """One that was acknowledged before they closed their account, one before they signed out."""
    song = sound(tmp_path / "song.flac", "flac", 1.0)
    async with running(net, tmp_path / "data") as (programs, studio):
        gone, out = await studio.artist(), await studio.artist()
        sent = [
            await one.send("POST", "/tracks/", song, title="Song", publishing=PROTECTED)
            for one in (gone, out)
        ]
        assert [reply.status for reply in sent] == [202, 202]
        await gone.account.deactivate()
        assert (await out.ask("POST", "/auth/logout")).status == 204
        await programs.work.start()
        await _idle(studio)
        async with open_state(Settings(data_dir=studio.data_dir)) as state:
            found = [await state.uploads.find(reply.json["upload_id"]) for reply in sent]

    assert [upload and (upload.status, upload.error) for upload in found] == [
        ("failed", "pds_refused"),
        ("failed", "session_expired"),
    ]
    async with open_state(Settings(data_dir=studio.data_dir)) as state:
        trash = {one.key for one in await state.stored_files.in_trash(100)}
    kept = {
        f"{folder}/{name}"
        for folder in ("incoming", "originals", "renditions")
        for name in studio.stored(folder)
    }
    assert kept <= trash


async def test_a_worker_that_is_told_to_stop_gives_back_what_it_claimed(net: Testnet, tmp_path: Path) -> None:
    """Within five seconds; the next one goes on at once, however long claims last."""
    long = sound(tmp_path / "long.flac", "flac", 40.0)
    async with running(net, tmp_path / "data") as (programs, studio):
        programs.work._variables["FMSVC_CLAIM_SECONDS"] = "600"
        mara = await studio.artist()
        reply = await mara.send("POST", "/tracks/", long, title="Song", publishing=PROTECTED)
        await programs.work.start()
        path = f"/tracks/uploads/{reply.json['upload_id']}"
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await mara.ask("GET", path)).json["status"] == "pending":  # noqa: ASYNC110
                await asyncio.sleep(0.02)

        async with asyncio.timeout(5):
            programs.work.server.process.terminate()
            code = await programs.work.server.process.wait()
        left = (await mara.ask("GET", path)).json["status"]
        await programs.work.stop()
        await programs.work.start()

        assert (code, left) == (0, "processing")
        assert (await mara.settled(reply.json["upload_id"]))["status"] == "completed"


class Uploads:
    """One upload after another; remembers what was acknowledged."""

    def __init__(self, artist: Artist, folder: Path) -> None:
        self._artist = artist
        self._folder = folder
        self._number = 0
        self._acknowledged: dict[str, str] = {}

    @property
    def has_some(self) -> bool:
        return len(self._acknowledged) >= 3

    async def once(self) -> None:
        self._number += 1
        title = f"Upload {self._number}"
        song = sound(self._folder / f"{title}.flac", "flac", 0.3, {"title": title})
        publishing = {"publishing": PROTECTED} if self._number % 2 else {}
        reply = await self._artist.send("POST", "/tracks/", song, title=title, album="Uploads", **publishing)
        assert reply.status == 202, reply.json
        self._acknowledged[title] = reply.json["upload_id"]
        if len(self._acknowledged) % 4 == 0:
            await self._artist.settled(reply.json["upload_id"])

    async def check(self) -> None:
        done = [await self._artist.settled(upload_id) for upload_id in self._acknowledged.values()]
        assert {upload["status"] for upload in done} <= {"completed"}, done
        records = await self._artist.listed(COLLECTIONS.track)
        made = Counter(record["value"]["title"] for record in records)
        assert {title: made[title] for title in self._acknowledged} == dict.fromkeys(self._acknowledged, 1)
        assert max(made.values()) == 1
        [album] = [
            one for one in await self._artist.listed(COLLECTIONS.list) if one["value"]["name"] == "Uploads"
        ]
        held = Counter(item["subject"]["uri"] for item in album["value"]["items"])
        assert set(held.values()) == {1}
        uploaded = {record["uri"] for record in records if record["value"]["title"].startswith("Upload ")}
        assert held.keys() == uploaded


class Jobs:
    """One job after another for an album, each sent with a key until it is acknowledged."""

    def __init__(self, artist: Artist, album: str) -> None:
        self._artist = artist
        self._album = album
        self._number = 0
        self._ids: dict[int, str] = {}

    @property
    def has_some(self) -> bool:
        return len(self._ids) >= 1

    async def once(self) -> None:
        if self._number not in self._ids:
            settings = template("signed_in") if self._number % 2 == 0 else template()
            path, key = f"/albums/{self._album}/publishing", f"job {self._number}"
            reply = await self._artist.ask("POST", path, {"settings": settings}, Idempotency_Key=key)
            assert reply.status == 202, reply.json
            self._ids[self._number] = reply.json["job_id"]
        await self._artist.job_done(self._ids[self._number])
        self._number += 1

    async def check(self) -> None:
        for job_id in self._ids.values():
            job = await self._artist.job_done(job_id)
            told = Counter(job["updated_track_ids"] + job["failed_track_ids"])
            assert job["failures"] == []
            assert told == Counter(job["selected_track_ids"])
            assert len(told) == TRACKS


async def _again(part: Uploads | Jobs, stop: asyncio.Event) -> None:
    """Until told to stop, but not without anything done, and whether or not anybody listens at the moment."""
    while not (stop.is_set() and part.has_some):
        with contextlib.suppress(aiohttp.ClientError, OSError):
            await part.once()
        await asyncio.sleep(0.05)


async def _album(artist: Artist, folder: Path) -> str:
    """Tracks that another program published, on one album."""
    account, writes = artist.account, []
    for number in range(TRACKS):
        song = sound(folder / f"{number}.flac", "flac", 0.2, {"title": str(number)})
        blob = await account.upload_blob(song.read_bytes(), "audio/flac")
        value: Json = {"title": f"Track {number}", "artist": "Mara", "fileType": "flac", "createdAt": MADE}
        writes.append(
            Write(
                "create",
                COLLECTIONS.track,
                str(tid_at(BEGAN + timedelta(seconds=number))),
                {**value, "audioBlob": blob},
            )
        )
    refs = await account.apply_writes(*writes)
    items = [{"subject": {"uri": ref.uri, "cid": ref.cid}} for ref in refs]
    value = {"name": "Harbour", "listType": "album", "items": items, "createdAt": MADE}
    made = await account.create_record(COLLECTIONS.list, value)
    tracks = [await artist.track_at(ref.uri) for ref in refs]
    assert len(tracks) == TRACKS
    return await artist.album_at(made.uri, TRACKS)


async def _check_store(programs: Programs, studio: Studio, artist: Artist) -> None:
    """Once what was interrupted is swept away, there is exactly what records speak of."""
    settings = Settings(data_dir=studio.data_dir)
    clock = HandClock()
    clock.time = datetime.now(UTC) + TRASH
    async with open_state(settings, clock) as state:
        store = AudioStore.of(settings)
        originals = Originals(state, store)
        await OrphanSweep(state, store, originals, studio.data_dir / RECEIVING, timedelta(0)).sweep()
    records = await artist.records(COLLECTIONS.track)
    spoken_of = {named_file(value["audioUrl"]) for value in records if "audioUrl" in value}
    rendered = {
        named_file(value["audioUrl"])
        for value in records
        if "audioUrl" in value and value["access"]["downloads"] == "off"
    }
    assert set(studio.stored("originals")) == spoken_of
    assert {name.partition(".")[0] for name in studio.stored("renditions")} == rendered
    assert studio.stored("incoming") == []
    assert list((studio.data_dir / RECEIVING).glob("*")) == []


async def _any(state: State, question: Select[tuple[str]]) -> bool:
    async with state.database.reading() as connection:
        return (await connection.execute(question)).first() is not None


async def _idle(studio: Studio) -> None:
    """Until everything is settled and what is left of it dropped."""
    async with open_state(Settings(data_dir=studio.data_dir)) as state, asyncio.timeout(PATIENCE_SECONDS):
        unfinished = select(uploads.c.id).where(uploads.c.status.in_(UNFINISHED)).limit(1)
        while await _any(state, unfinished):  # noqa: ASYNC110  # other processes set no event of ours
            await asyncio.sleep(0.1)
    await asyncio.sleep(1.0)


def _renderers(parent: int) -> Iterator[int]:
    """The processes that read files for this one."""
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            of_parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == parent
            if of_parent and b"readapi.audio.decoding.transcode_process" in (folder / "cmdline").read_bytes():
                yield int(folder.name)
