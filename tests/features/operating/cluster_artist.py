"""An artist of a cluster: signed in on every machine, with an album whose access is changed by jobs."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import libipld
from sqlalchemy import select

from readapi.state.db.publishing_tables import jobs
from readapi.state.state import State, open_state
from schemas.settings import Settings
from tests.network.pds import Account, Ref
from tests.network.person import Person
from tests.network.relay import PATH
from tests.patience import PATIENCE_SECONDS
from tests.promises.stage import COLLECTIONS, track
from tests.readapi.audio.sounds import sound
from tests.readapi.door import Door, expire
from tests.readapi.studio import MADE, Artist, template

TRACKS = 3
WATCH_SECONDS = 0.25
ACCESSES = (template("owner", "off"), template())  # of the jobs in turn: audio goes into the store, and back


@dataclass(slots=True)
class ClusterArtist:
    """`doors`: one of each machine. While `is_state_away`, machines may answer with an error of theirs."""

    account: Account
    doors: Sequence[Door]
    state: State
    sessions: list[str] = field(default_factory=list, repr=False)
    tracks: list[Ref] = field(default_factory=list)
    track_ids: list[int] = field(default_factory=list)
    album: str = ""
    job_ids: list[str] = field(default_factory=list)
    is_state_away: bool = False
    failed: list[Any] = field(default_factory=list)

    async def watch(self) -> None:
        """Use every session at every machine, again and again: none is refused, whatever happens."""
        while True:
            for door in self.doors:
                for session in tuple(self.sessions):
                    was_away = self.is_state_away
                    reply = await door.me(session)
                    may_fail = (was_away or self.is_state_away) and reply.status >= 500
                    if reply.status != 200 and not may_fail:
                        self.failed.append((door.address, reply))
            await asyncio.sleep(WATCH_SECONDS)

    async def sign_in(self, at: int = 0) -> None:
        """Sign in anew: begin at one machine, and go on at the next ones."""
        await self.come_back(await self.agree(at), at + 1)

    async def agree(self, at: int) -> dict[str, str]:
        """Begin to sign in, and agree; what the browser comes back with."""
        person = Person(self.account)
        return await person.agree(await self._door(at).start(person))

    async def come_back(self, back: Mapping[str, str], at: int) -> None:
        """Finish a sign-in; every machine knows the session at once."""
        returned = await self._door(at).come_back(back)
        assert returned.status == 200, returned
        begun = await self._door(at + 1).exchange(returned.json["exchange_token"])
        assert begun.status == 200, begun
        self.sessions.append(begun.json["session_id"])
        for door in self.doors:
            me = await door.me(self.sessions[-1])
            assert (me.status, me.json["did"]) == (200, self.account.did), me

    async def expire(self) -> None:
        """Let the access token of the first session expire, so that the next write refreshes it."""
        await expire(self.state, self.sessions[0])

    async def state_is_back(self) -> None:
        """Wait until every machine answers with what the state database has."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            for door in self.doors:
                while (await door.me(self.sessions[0])).status != 200:  # noqa: ASYNC110  # another process answers
                    await asyncio.sleep(0.05)
        self.is_state_away = False

    async def publish_album(self, folder: Path) -> None:
        """Write an album with audio that everybody may hear, and wait until every machine shows it."""
        for number in range(TRACKS):
            title = f"Low tide {number}"
            song = sound(folder / f"{number}.flac", "flac", 0.2, {"title": title})
            blob = await self.account.upload_blob(song.read_bytes(), "audio/flac")
            record = track(title, fileType="flac", audioBlob=blob)
            self.tracks.append(await self.account.create_record(COLLECTIONS.track, record))
        items = [{"subject": ref.strong} for ref in self.tracks]
        album = {"name": "Low tide", "listType": "album", "items": items, "createdAt": MADE}
        made = await self.account.create_record(COLLECTIONS.list, album)
        for at in range(len(self.doors)):
            self.album = await self._artist(at).album_at(made.uri, TRACKS)
        self.track_ids = [(await self._artist(0).track_at(ref.uri))["id"] for ref in self.tracks]

    async def begin_job(self, at: int = 0) -> str:
        """Ask for other access to the album, with one key until the job is queued; the job's id."""
        number = len(self.job_ids)
        path, wanted = f"/albums/{self.album}/publishing", {"settings": ACCESSES[number % len(ACCESSES)]}
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                may_fail = self.is_state_away
                reply = await self._artist(at).ask("POST", path, wanted, Idempotency_Key=f"job {number}")
                if reply.status == 202:
                    break
                assert may_fail, reply
                assert reply.status >= 500, reply
                await asyncio.sleep(0.05)
        assert reply.json["selected_track_ids"] == self.track_ids
        self.job_ids.append(reply.json["job_id"])
        return self.job_ids[-1]

    async def worker_of(self, job_id: str) -> int:
        """Wait until a worker runs a job; the id of its process."""
        claimed_by = select(jobs.c.claimed_by).where(jobs.c.id == job_id)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                async with self.state.database.reading() as connection:
                    name = (await connection.execute(claimed_by)).scalar_one()
                if name is not None:
                    return int(name.split()[1])
                await asyncio.sleep(0.01)

    async def jobs_are_done_once(self) -> None:
        """Each job changed each track, as machines say, and wrote each record once, as the server says."""
        for number, job_id in enumerate(self.job_ids):
            job = await self._artist(number).job_done(job_id)
            assert (job["status"], job["failures"]) == ("completed", []), job
            assert job["updated_track_ids"] == self.track_ids
        assert await self._changes() == dict.fromkeys((ref.rkey for ref in self.tracks), len(self.job_ids))
        access = ACCESSES[(len(self.job_ids) - 1) % len(ACCESSES)]["access"]
        for record in await self._artist(0).records(COLLECTIONS.track):
            assert record["access"] == access
            assert ("audioBlob" in record) == (access["listening"] == "public")

    async def _changes(self) -> Counter[str]:
        """How often each of their tracks was changed."""
        last = await self.account.create_record("fm.svc.thing", {})
        changed: Counter[str] = Counter()
        address = f"{self.account.pds.relay_url}{PATH}?cursor=0"
        async with self.account.pds.session.ws_connect(address, max_msg_size=0) as stream:
            async for message in stream:
                header, body = libipld.decode_dag_cbor_multi(message.data)
                if header.get("t") != "#commit" or body["repo"] != self.account.did:
                    continue
                for operation in body["ops"]:
                    collection, _, rkey = operation["path"].partition("/")
                    if rkey == last.rkey:
                        return changed
                    if collection == COLLECTIONS.track and operation["action"] == "update":
                        changed[rkey] += 1
        raise AssertionError("the stream ended")

    def _door(self, at: int) -> Door:
        return self.doors[at % len(self.doors)]

    def _artist(self, at: int) -> Artist:
        return Artist(self._door(at), self.account, self.sessions[0])


@asynccontextmanager
async def cluster_artist(
    account: Account, addresses: Sequence[str], variables: Mapping[str, str], folder: Path
) -> AsyncIterator[ClusterArtist]:
    """An artist who is signed in and has published an album. `variables`: those of a machine."""
    async with (
        open_state(Settings.from_environment(variables)) as state,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client,
    ):
        artist = ClusterArtist(account, [Door(address, client) for address in addresses], state)
        await artist.sign_in()
        await artist.publish_album(folder)
        yield artist
