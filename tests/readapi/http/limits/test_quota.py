"""Nobody fills the store or the queue alone: what an account may have waiting has a limit."""

import asyncio
import io
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from sqlalchemy import Table, delete, select

from readapi.errors import RateLimited
from readapi.http.endpoint import Routes
from readapi.http.limits.body_pace import BodyIntake
from readapi.http.limits.disk_reservations import DiskReservations
from readapi.http.limits.quota import ARRIVALS_OF_ONE, Quota
from readapi.http.request.incoming_file import CHUNK_BYTES
from readapi.http.request.page_forms import DRAINED_BYTES
from readapi.http.viewer import Requester, SignedIn
from readapi.pages.portal.forms import UploadForm
from readapi.state.db.publishing_tables import jobs, uploads
from readapi.state.state import State, open_state
from schemas.api.publishing import NewAudio
from schemas.api.shape import Message
from schemas.ids import Did
from schemas.settings import Settings
from tests.readapi import site
from tests.readapi.state.people import BEN, MARA, token
from tests.readapi.state.publishing.made import job, upload
from tests.readapi.studio import Studio, template


@pytest.mark.slow
async def test_requests_that_race_do_not_get_past_a_limit(state: State) -> None:
    """Two of eight are taken, and somebody else's besides."""
    quota = Quota(Settings(uploads_waiting=2, jobs_waiting=2), state)

    async def send(number: int, did: Did = MARA) -> None:
        async with quota.upload(did, 10):
            await upload(state, number, did)

    async def ask() -> None:
        async with quota.job(MARA):
            await job(state)

    sent = await asyncio.gather(*(send(number) for number in range(8)), return_exceptions=True)
    asked = await asyncio.gather(*(ask() for _ in range(8)), return_exceptions=True)
    await send(9, BEN)

    for answers in (sent, asked):
        assert sum(answer is None for answer in answers) == 2
        assert sum(isinstance(answer, RateLimited) for answer in answers) == 6


@pytest.mark.slow
async def test_bytes_that_wait_have_a_limit(state: State) -> None:
    """A single upload may always come, and a version that is restored brings nothing."""
    waiting = (await upload(state)).wanted.audio.bytes
    quota = Quota(Settings(uploads_waiting_bytes=waiting + 10), state)

    for did, size in ((MARA, 10), (MARA, 0), (BEN, 1 << 40)):
        async with quota.upload(did, size):
            pass
    with pytest.raises(RateLimited, match="1,234 bytes are not finished"):
        async with quota.upload(MARA, 11):
            pass


routes = Routes("test")


@routes.post("/sound")
async def take(sent: NewAudio, who: SignedIn) -> None:
    """Take a file."""
    raise AssertionError("all of it came")


@routes.post("/page")
async def show(sent: UploadForm, who: SignedIn) -> Message:
    """Tell what was typed, and why the file was not taken."""
    return Message(message=f"{sent.title}: {sent.left_out['file'].refusal.message}")


async def mara_asks(_: web.Request) -> Requester:
    return Requester(SignedIn(token(MARA)), None, by_cookie=False)


async def without_end() -> AsyncIterator[bytes]:
    """A form whose file begins with four MiB, and then nothing more comes."""
    yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    for _ in range(4):
        yield bytes(1 << 20)
    await asyncio.Event().wait()


@pytest.mark.parametrize("declared", [None, 50 << 20])
async def test_what_is_too_much_is_refused_while_it_comes(
    state: State, tmp_path: Path, declared: int | None
) -> None:
    """When its length is declared before that; nothing of it stays on the disk."""
    waiting = (await upload(state)).wanted.audio.bytes
    settings = Settings(data_dir=tmp_path, uploads_waiting_bytes=waiting + (2 << 20))
    services = {Settings: settings, Quota: Quota(settings, state)}
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    if declared is not None:
        headers["Content-Length"] = str(declared)

    async with site.running(routes, services, settings, who_asks=mara_asks) as running:
        assert running.client is not None
        async with (
            asyncio.timeout(20),
            running.client.post(f"{running.address}/sound", data=without_end(), headers=headers) as reply,
        ):
            refused = await reply.json()

    assert (reply.status, refused["detail"], reply.headers["Retry-After"]) == (429, "rate_limited", "60")
    assert list(tmp_path.rglob("receiving/*")) == []


@pytest.mark.parametrize("limits", [{"uploads_waiting": 1}, {"uploads_waiting_bytes": 2 << 20}])
async def test_a_page_gets_the_rest_of_a_form_whose_file_has_no_room(
    state: State, tmp_path: Path, limits: dict[str, int]
) -> None:
    """Whether that is known before the file comes or while it does; nothing of it stays on the disk."""
    await upload(state)
    settings = Settings(data_dir=tmp_path, **limits)  # type: ignore[arg-type]
    form = aiohttp.MultipartWriter("form-data")
    form.append(io.BytesIO(bytes(3 << 20))).set_content_disposition("form-data", name="file", filename="a")
    form.append("Low Tide").set_content_disposition("form-data", name="title")

    async def in_chunks() -> AsyncIterator[bytes]:
        yield await form.as_bytes()

    headers = {"Content-Type": form.content_type}
    services = {Settings: settings, Quota: Quota(settings, state)}
    async with site.running(routes, services, settings, who_asks=mara_asks) as running:
        assert running.client is not None
        url = f"{running.address}/page"
        async with running.client.post(url, data=in_chunks(), headers=headers) as reply:
            told = (await reply.json())["message"]

    assert told.startswith("Low Tide: ")
    assert "are not finished yet; try again when some are." in told
    assert list(tmp_path.rglob("receiving/*")) == []


async def test_a_file_without_room_that_is_long_refuses_the_whole_form(state: State, tmp_path: Path) -> None:
    """With the reason for which there is no room: nothing is wrong with the file."""
    await upload(state)
    settings = Settings(data_dir=tmp_path, uploads_waiting=1)

    async def long() -> AsyncIterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        for _ in range(DRAINED_BYTES // CHUNK_BYTES + 1):
            yield bytes(CHUNK_BYTES)

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    services = {Settings: settings, Quota: Quota(settings, state)}
    async with site.running(routes, services, settings, who_asks=mara_asks) as running:
        assert running.client is not None
        async with running.client.post(f"{running.address}/page", data=long(), headers=headers) as reply:
            refused = await reply.json()

    assert (reply.status, refused["detail"]) == (429, "rate_limited")


@asynccontextmanager
async def taking(state: State, settings: Settings, **intake: float) -> AsyncIterator[site.Site]:
    """A worker that takes files, and what people send to it with their names as tokens."""
    services = {
        Settings: settings,
        Quota: Quota(settings, state),
        BodyIntake: BodyIntake(**intake),  # type: ignore[arg-type]
    }
    async with site.running(routes, services, settings, who_asks=named) as running:
        yield running


async def named(request: web.Request) -> Requester:
    return Requester(SignedIn(token(Did(request.headers["X-Did"]))), None, by_cookie=False)


def sending(running: site.Site, did: Did = MARA, declared: int | None = None) -> "asyncio.Task[int]":
    """A file of somebody, which never ends; the status that they are answered."""
    headers = {"Content-Type": "multipart/form-data; boundary=x", "X-Did": did}
    if declared is not None:
        headers["Content-Length"] = str(declared)

    async def send() -> int:
        assert running.client is not None
        url = f"{running.address}/sound"
        async with running.client.post(url, data=without_end(), headers=headers) as reply:
            await reply.read()
            return reply.status

    return asyncio.create_task(send())


async def on_their_way(folder: Path, count: int) -> list[Path]:
    """So many files, as soon as there are no more and no fewer."""
    async with asyncio.timeout(20):
        while len(found := list(folder.glob("receiving/*"))) != count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return found


async def test_what_is_on_its_way_counts_in_all_workers(state: State, tmp_path: Path) -> None:
    """In number for each account; who hangs up makes room again, and leaves nothing."""
    settings = Settings(data_dir=tmp_path, uploads_waiting=2)
    async with taking(state, settings) as first, taking(state, settings) as second:
        sent = [sending(first), sending(second, declared=8 << 20)]
        await on_their_way(tmp_path, 2)

        refused = await asyncio.wait_for(sending(second), 20)
        of_ben = sending(first, BEN)
        await on_their_way(tmp_path, 3)
        sent[0].cancel()
        await on_their_way(tmp_path, 2)
        again = sending(first)
        await on_their_way(tmp_path, 3)

        for task in (*sent, of_ben, again):
            task.cancel()
        await on_their_way(tmp_path, 0)
    assert refused == 429


async def test_one_account_leaves_room_for_others_to_send(state: State, tmp_path: Path) -> None:
    """However much it may have waiting; a file that finds no room on the disk takes none."""
    quota = Quota(Settings(data_dir=tmp_path), state)
    with pytest.raises(OSError):
        DiskReservations(tmp_path).begin(MARA, 1 << 62, lambda *_: None)

    arrivals = [await quota.begin(MARA, 0) for _ in range(ARRIVALS_OF_ONE)]
    with pytest.raises(RateLimited, match="on their way"):
        await quota.begin(MARA, 0)
    arrivals.append(await quota.begin(BEN, 0))

    for arrival in arrivals:
        arrival.close()
    (await quota.begin(MARA, 0)).close()


async def test_bytes_on_their_way_are_reserved_before_they_come(state: State, tmp_path: Path) -> None:
    """Where their length is declared; else as they come."""
    settings = Settings(data_dir=tmp_path, uploads_waiting_bytes=12 << 20)
    async with taking(state, settings) as first, taking(state, settings) as second:
        sent = sending(first, declared=9 << 20)
        [path] = await on_their_way(tmp_path, 1)

        refused = [
            await asyncio.wait_for(sending(second, declared=declared), 20) for declared in (5 << 20, None)
        ]

        assert path.stat().st_size == 9 << 20
        sent.cancel()
        await on_their_way(tmp_path, 0)
    assert refused == [429, 429]


async def test_what_a_worker_was_receiving_when_it_was_killed_counts_no_more(
    state: State, tmp_path: Path
) -> None:
    """And is removed by whoever counts next."""
    settings = Settings(data_dir=tmp_path, uploads_waiting=1)
    begin = (
        "import sys, pathlib, readapi.http.limits.disk_reservations as a\n"
        f"held = a.DiskReservations(pathlib.Path(sys.argv[1])).begin({MARA!r}, 1 << 20, lambda *_: None)\n"
        "print(flush=True)\n"
        "sys.stdin.read()"
    )
    pipe = asyncio.subprocess.PIPE
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", begin, str(tmp_path), stdin=pipe, stdout=pipe
    )
    assert worker.stdout is not None
    await worker.stdout.readline()
    room = Quota(settings, state).room(MARA)

    with pytest.raises(RateLimited):
        await room.begin(1 << 20)
    worker.kill()
    await worker.wait()
    arrival = await room.begin(1 << 20)

    assert list(tmp_path.glob("receiving/*")) == [arrival.path]
    arrival.close()


async def test_who_sends_too_slowly_is_refused_and_leaves_nothing(state: State, tmp_path: Path) -> None:
    """Whether nothing more comes, or now and then a byte."""
    settings = Settings(data_dir=tmp_path)
    async with taking(state, settings, patience_seconds=0.3) as running:
        silent = await asyncio.wait_for(sending(running), 20)

    assert silent == 408
    assert list(tmp_path.glob("receiving/*")) == []


async def waiting_rows(did: Did, folder: Path) -> dict[Table, list[dict[str, Any]]]:
    """Three uploads and three jobs that nobody may work at for an hour."""
    async with open_state(Settings(data_dir=folder)) as scratch:
        for number in range(3):
            await upload(scratch, number, did)
            await job(scratch, did=did)
        later = {"claimed_until": scratch.database.now() + timedelta(hours=1)}
        async with scratch.database.reading() as connection:
            return {
                table: [dict(row) | later for row in (await connection.execute(select(table))).mappings()]
                for table in (uploads, jobs)
            }


@pytest.mark.network
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.slow
async def test_too_many_uploads_and_jobs_are_refused_before_anything_is_stored(
    studio: Studio, song: Path, tmp_path: Path
) -> None:
    """With 429, a sentence, and when to try again."""
    mara = await studio.artist()
    did, made = Did(mara.account.did), await mara.publish(song)
    path, narrower = f"/tracks/{made['id']}/publishing", {"settings": template("owner", "off")}
    rows = await waiting_rows(did, tmp_path)
    async with open_state(Settings(data_dir=studio.data_dir)) as state:
        async with state.database.writing() as connection:
            for table, waiting in rows.items():
                await connection.execute(table.insert(), waiting)

        replies = [
            await mara.send("POST", "/tracks/", song, title="Song"),
            await mara.send("PUT", f"/tracks/{made['id']}/audio", song),
            await mara.ask("POST", path, narrower),
        ]
        async with state.database.writing() as connection:
            for table in rows:
                await connection.execute(delete(table).where(table.c.did == did))

    for reply in replies:
        assert (reply.status, reply.json["detail"]) == (429, "rate_limited"), reply.json
        assert reply.json["message"].endswith("of yours are not finished yet; try again when some are.")
        assert reply.headers["Retry-After"] == "60"
    assert studio.stored("incoming") == []
    assert list((studio.data_dir / "receiving").iterdir()) == []
    assert (await mara.track(made["id"]))["publishing"] == template()
