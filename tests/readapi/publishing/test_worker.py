"""The job worker serves everybody in turn, gives up what cannot be done, and says of it what is true."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import event

from readapi.errors import PdsUnavailable
from readapi.publishing import retries
from readapi.publishing.access.run_job import JobWork
from readapi.publishing.originals.placement import MOVED
from readapi.publishing.originals.references import managed_of
from readapi.publishing.slots import JobSlots
from readapi.state.db.claims import Attempt, TakenOver, WaitingRows
from readapi.state.publishing.jobs import JobRequest, JobTrack
from readapi.state.state import State, open_state
from schemas.ids import Did
from schemas.publishing import OPEN, Template
from schemas.settings import Settings
from tests.patience import PATIENCE_SECONDS
from tests.readapi.publishing.own_server import SETTINGS, Publishing, access, silence, track
from tests.readapi.state.people import BEN, MARA, START, HandClock
from tests.readapi.state.publishing.made import FIRST, GRANT, SECOND

OWNER = Template(access=access("owner", "off"), attach_rights=False)


@pytest.fixture
async def publishing(state: State, tmp_path: Path) -> Publishing:
    return Publishing(state, tmp_path)


async def job(publishing: Publishing, *numbers: int, did: Did = MARA) -> str:
    """To hide tracks whose audio is at their artist's server."""
    steps = []
    for number in numbers:
        publishing.show(track(number, did), *publishing.sound(1 + number / 10))
        steps.append(JobTrack(track(number, did), number))
    return await publishing.state.jobs.queue(JobRequest(did, GRANT, OWNER, "track"), steps, None, "request")


async def test_a_worker_without_work_asks_one_question_at_a_time(publishing: Publishing) -> None:
    """It asks for ever, so what it asks is what an idle service costs."""
    asked: list[str] = []
    engine = publishing.state.database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", lambda _, __, statement, *___: asked.append(statement))

    async with publishing.working(), asyncio.timeout(PATIENCE_SECONDS):
        while sum("FROM" in statement for statement in asked) < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    [question] = {statement for statement in asked if "FROM" in statement}
    assert "FROM uploads" in question
    assert "FROM publishing_jobs" in question


async def test_a_database_that_fails_for_a_while_ends_no_worker(
    publishing: Publishing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job that was queued meanwhile is settled afterwards."""
    failures = iter([OSError("gone"), OSError("gone")])
    exist = WaitingRows.exist

    async def failing(waiting: WaitingRows) -> bool:
        for failure in failures:
            raise failure
        return await exist(waiting)

    monkeypatch.setattr(WaitingRows, "exist", failing)
    job_id = await job(publishing, 1)
    async with publishing.working():
        done = await publishing.job_done(job_id)

    assert done.completed_at is not None
    assert next(failures, None) is None


async def test_a_slow_server_holds_up_its_own_alone(tmp_path: Path) -> None:
    """Others are served meanwhile, and what waits for it is not taken for lost: it ends at its first try."""
    settings = Settings(data_dir=tmp_path, claim_seconds=0.5, job_workers=2)
    async with open_state(settings) as state:
        publishing = Publishing(state, tmp_path, settings=settings)
        uploads = []
        for did in (MARA, BEN):
            publishing.show(track(2, did), *publishing.sound(1.0))
            uploads.append(await publishing.received(track(2, did), *publishing.sound(1.1)))
        publishing.server.stalled.add(MARA)

        async with publishing.working():
            of_ben = await publishing.settled(uploads[1])
            await asyncio.sleep(2 * settings.claim_seconds)
            of_mara = await state.uploads.find(uploads[0].id)
            tries = (await state.uploads.claims.attempt(uploads[0].id)).number
            publishing.server.goes_on.set()
            done = await publishing.settled(uploads[0])

        assert (of_ben.status, of_mara.status, done.status) == ("completed", "processing", "completed")
        assert tries == 1


async def test_slow_servers_do_not_hold_all_slots(tmp_path: Path) -> None:
    """Two accounts at one, of two slots: a third is served, and they go on to their end as well."""
    settings = Settings(data_dir=tmp_path, job_workers=2, claim_seconds=10)
    slow = [Did(f"did:plc:slow{number}") for number in range(2)]
    async with open_state(settings) as state:
        publishing = Publishing(state, tmp_path, settings=settings)
        uploads = []
        for did in (*slow, BEN):
            publishing.show(track(2, did), *publishing.sound(1.0))
            uploads.append(await publishing.received(track(2, did), *publishing.sound(1.1)))
        publishing.server.stalled.update(slow)

        async with publishing.working(JobSlots(settings.job_workers, usual_seconds=0.2)):
            of_ben = await publishing.settled(uploads[2])
            waiting = [await state.uploads.find(upload.id) for upload in uploads[:2]]
            publishing.server.goes_on.set()
            done = [await publishing.settled(upload) for upload in uploads[:2]]

    assert of_ben.status == "completed"
    assert [upload.status for upload in waiting] == ["processing"] * 2
    assert [upload.status for upload in done] == ["completed"] * 2


async def test_what_takes_long_breaks_off_for_others_that_do(
    publishing: Publishing, state: State, clock: HandClock
) -> None:
    """The one that has had the most time; it is tried again, and that was no try."""
    uploads = []
    for did in (MARA, BEN):
        publishing.show(track(2, did), *publishing.sound(1.0))
        uploads.append(await publishing.received(track(2, did), *publishing.sound(1.1)))
        clock.forward(seconds=1)
    publishing.server.stalled.update((MARA, BEN))

    async with publishing.working(JobSlots(1, usual_seconds=0.1, long_at_once=1)):
        async with asyncio.timeout(20):
            while not (broken_off := await state.uploads.claims.claim(SECOND)):
                clock.forward(seconds=1)
                await asyncio.sleep(0.02)

    assert broken_off in {upload.id for upload in uploads}
    assert (await state.uploads.claims.attempt(broken_off)).number == 1


async def test_a_try_has_an_end(state: State, clock: HandClock, tmp_path: Path) -> None:
    """A server that never answers is not waited for, nor asked for ever."""
    settings = Settings(data_dir=tmp_path, job_seconds=0.1, job_tries=1, claim_seconds=1e6)
    publishing = Publishing(state, tmp_path, settings=settings)
    publishing.show(track(2), *publishing.sound(1.0))
    upload = await publishing.received(track(2), *publishing.sound(1.1))
    publishing.server.stalled.add(MARA)

    async with publishing.working(), asyncio.timeout(20):
        while not (failed := await state.uploads.find(upload.id)).is_settled:
            clock.forward(minutes=5)
            await asyncio.sleep(0.1)

    assert (failed.status, failed.error) == ("failed", "internal")
    assert not await publishing.has(upload.wanted.audio)


async def test_a_file_that_ends_the_worker_is_given_up(
    publishing: Publishing, state: State, clock: HandClock
) -> None:
    """After three tries of which nobody says how they ended; nothing is left of it."""
    await publishing.keep(track(2), *publishing.sound(1.0), access("owner", "off"))
    before = publishing.server.value()
    upload = await publishing.received(track(2), *publishing.sound(1.1))
    for _ in range(SETTINGS.job_tries):
        assert await state.uploads.claims.claim(FIRST) == upload.id
        clock.forward(seconds=31)

    async with publishing.working():
        failed = await publishing.settled(upload)

    assert (failed.status, failed.error) == ("failed", "internal")
    assert failed.message == "Every attempt was interrupted, so this was given up."
    assert publishing.server.value() == before
    assert [file.key async for file in publishing.store.keys("incoming")] == []
    assert not await publishing.has(upload.wanted.audio)


async def test_a_track_that_ends_the_worker_fails_alone(
    publishing: Publishing, state: State, clock: HandClock
) -> None:
    """The others of its job are changed; what the tries left of it is let go."""
    job_id = await job(publishing, 2, 3)
    audio, content = publishing.sound(1.2)
    await publishing.keep(track(4), audio, content, OPEN)
    await publishing.originals.own(managed_of(track(2), audio))
    await publishing.originals.forget(track(4), MOVED)
    for who in (FIRST, SECOND, FIRST):
        assert await state.jobs.claims.claim(who) == job_id
        clock.forward(seconds=31)

    async with publishing.working():
        done = await publishing.job_done(job_id)

    assert [one.outcome for one in done.tracks] == ["failed", "updated"]
    assert done.tracks[0].reason == "internal"
    assert done.message == "1 track could not be changed; 1 track could."
    assert await state.managed_audio.find(str(track(2))) is None
    assert not await publishing.has(audio)
    assert publishing.server.value(track(3))["access"]["listening"] == "owner"


async def test_a_track_that_was_changed_after_all_is_not_told_to_have_failed(
    publishing: Publishing, state: State, clock: HandClock
) -> None:
    """Each try wrote the record and then ended with its worker."""
    job_id = await job(publishing, 2)
    asked = (await state.jobs.find(job_id)).asked
    await publishing.changing.change(asked, track(2), asked, None, silence)
    for who in (FIRST, SECOND, FIRST):
        assert await state.jobs.claims.claim(who) == job_id
        clock.forward(seconds=31)

    async with publishing.working():
        done = await publishing.job_done(job_id)

    assert (done.status, done.tracks[0].outcome) == ("completed", "updated")
    assert await publishing.has(publishing.sound(1.2)[0])


async def test_what_a_server_knows_nothing_of_loses_no_original(publishing: Publishing, state: State) -> None:
    """It may have lost the record, or lie: jobs and uploads fail, and the only original there is stays."""
    audio, content = publishing.sound(1.2)
    await publishing.keep(track(2), audio, content, access("owner", "off"))
    asked = JobRequest(MARA, GRANT, OWNER, "track")
    job_id = await state.jobs.queue(asked, [JobTrack(track(2), 2)], None, "request")
    upload = await publishing.received(track(2), *publishing.sound(1.3))
    publishing.server.records.clear()

    async with publishing.working():
        job_done, upload_done = await publishing.job_done(job_id), await publishing.settled(upload)

    assert (job_done.status, upload_done.status) == ("failed", "failed")
    assert await state.managed_audio.find(str(track(2))) is not None
    assert await publishing.has(audio)


async def test_what_is_not_shown_yet_is_told_as_such(publishing: Publishing) -> None:
    """Of tracks and of uploads: whoever made a record say less must know."""
    publishing.server.is_shown = False
    job_id = await job(publishing, 2, 3)
    publishing.show(track(5), *publishing.sound(1.0))
    upload = await publishing.received(track(5), *publishing.sound(1.1))

    async with publishing.working():
        done, replaced = await publishing.job_done(job_id), await publishing.settled(upload)

    assert (done.status, [one.outcome for one in done.tracks]) == ("completed", ["updated"] * 2)
    assert done.message == "2 tracks changed. The index does not show all of them yet."
    assert replaced.message == "The track's audio was replaced. The index does not show it yet."


async def test_a_job_waits_for_the_index_once(publishing: Publishing) -> None:
    """At its end, and for all tracks that came late: not for each of them in turn."""
    publishing.server.is_shown = False
    job_id = await job(publishing, 2, 3, 4)
    tracks = [track(number) for number in (2, 3, 4)]

    async with publishing.working():
        await publishing.job_done(job_id)

    first, second, third, *last = publishing.server.asked_to_show
    assert [first, second, third] == [[one] for one in tracks]
    assert last
    assert all(asked == tracks for asked in last)


async def test_a_long_job_gives_way(publishing: Publishing, state: State) -> None:
    """After its turn it waits like any other, with what it has done; that is no try."""
    job_id = await job(publishing, 2, 3)
    await state.jobs.claims.claim(FIRST)
    work = JobWork(SETTINGS, state, publishing.changing, publishing.writing, turn_seconds=0.0)

    await work.run(job_id, FIRST, await state.jobs.claims.attempt(job_id))
    await state.jobs.claims.give_back(job_id, FIRST)

    left = await state.jobs.find(job_id)
    assert (left.status, [one.outcome for one in left.tracks]) == ("processing", ["updated", "pending"])
    assert await state.jobs.claims.claim(SECOND) == job_id
    assert (await state.jobs.claims.attempt(job_id)).number == 1


async def test_who_was_overtaken_undoes_nothing(
    publishing: Publishing, state: State, clock: HandClock
) -> None:
    """A worker that stood still after it wrote: the track has newer audio by the time that it goes on."""
    await publishing.keep(track(2), *publishing.sound(1.0), access("owner", "off"))
    stale = await publishing.received(track(2), *publishing.sound(1.1))
    await state.uploads.claims.claim(FIRST)

    async def say(phase: str, progress_pct: int, message: str) -> None:
        if phase == "settling":
            clock.forward(seconds=31)
            async with publishing.working():
                await publishing.settled(stale)
                await publishing.settled(newer)
        await state.uploads.advance(stale.id, FIRST, phase, progress_pct, message)

    newer = await publishing.received(track(2), *publishing.sound(1.2))
    with pytest.raises(TakenOver):
        await publishing.uploading.run(stale, say)

    assert await publishing.has(newer.wanted.audio)
    assert (await publishing.originals.find(track(2))).file_id == newer.wanted.audio.file_id


async def test_a_job_that_was_overtaken_undoes_nothing(publishing: Publishing, state: State) -> None:
    """The same of a change of access."""
    song, content = publishing.sound(1.0)
    await publishing.keep(track(2), song, content, access("owner", "off"))
    asked = JobRequest(MARA, GRANT, Template(access=OPEN, attach_rights=False), "track")

    async def fence() -> None:
        raise TakenOver

    with pytest.raises(TakenOver):
        await publishing.changing.change(asked, track(2), asked, None, fence)

    assert await publishing.has(song)


@pytest.mark.parametrize(
    ("error", "number", "waited", "passes"),
    [
        (PdsUnavailable(), 50, timedelta(minutes=59), True),
        (PdsUnavailable(), 1, timedelta(minutes=60), False),
        (TimeoutError(), 2, timedelta(hours=9), True),
        (TimeoutError(), 3, timedelta(0), False),
        (ValueError(), 1, timedelta(0), False),
    ],
)
def test_servers_are_given_time_and_we_are_given_tries(
    error: Exception, number: int, waited: timedelta, passes: bool
) -> None:
    """Pauses between them grow."""
    assert retries.may_pass(error, Attempt(number, START), waited, 3) is passes
    assert timedelta(seconds=5) <= retries.next_pause(waited) <= timedelta(minutes=5)
