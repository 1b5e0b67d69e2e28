"""A publishing job is made once per key, and each of its tracks is told of once."""

import asyncio

import pytest

from readapi.state.db.claims import Attempt
from readapi.state.publishing.jobs import JobRequest, JobTrack, KeyTaken
from readapi.state.state import State
from schemas.publishing import DEFAULT
from tests.readapi.state.people import BEN, MARA, HandClock
from tests.readapi.state.publishing.made import ALBUM, FIRST, GRANT, OWNER_ONLY, SECOND, job, track


async def test_a_job_is_found_as_it_was_queued(state: State) -> None:
    """With its tracks in order, and the album's template saved with it."""
    job_id = await job(state)

    found = await state.jobs.find(job_id)

    assert (found.asked, found.status) == (JobRequest(MARA, GRANT, OWNER_ONLY, "album", ALBUM), "pending")
    assert [(one.uri, one.id, one.outcome) for one in found.tracks] == [
        (track(0), 0, "pending"),
        (track(1), 1, "pending"),
        (track(2), 2, "preserved"),
    ]
    assert await state.album_templates.get(ALBUM) == OWNER_ONLY
    assert await state.jobs.find("nobody's") is None


async def test_the_newest_jobs_of_an_account_are_found(state: State, clock: HandClock) -> None:
    """Newest first, with their tracks, and nobody else's."""
    queued = []
    for _ in range(3):
        queued.append(await job(state))
        clock.forward(seconds=1)

    assert await state.jobs.newest(MARA, 2) == [await state.jobs.find(one) for one in (queued[2], queued[1])]
    assert await state.jobs.newest(BEN, 2) == []


async def test_a_key_makes_one_job_however_often_it_is_sent(state: State) -> None:
    """Also at the same moment."""
    made = await asyncio.gather(*(job(state, key="key") for _ in range(4)))

    assert len({*made, await job(state, key="key")}) == 1
    assert await job(state) not in made


async def test_a_key_cannot_stand_for_two_requests(state: State) -> None:
    """Of one person; the template is not saved either. Somebody else's key is another."""
    await job(state, key="key")
    await state.album_templates.remove(ALBUM)

    with pytest.raises(KeyTaken):
        await job(state, key="key", request="another")

    assert await state.album_templates.get(ALBUM) is None
    bens = JobRequest(BEN, GRANT, OWNER_ONLY, "track")
    assert await state.jobs.queue(bens, [JobTrack(track(1, BEN), 1)], "key", "another")


async def test_an_album_that_goes_back_to_the_portals_settings_has_none_of_its_own(state: State) -> None:
    """Its template goes with the same transaction."""
    await job(state)

    await state.jobs.queue(JobRequest(MARA, GRANT, DEFAULT, "portal", ALBUM), [], None, "request")

    assert await state.album_templates.get(ALBUM) is None


async def test_each_track_is_settled_once_and_by_the_claimant(state: State, clock: HandClock) -> None:
    """What has an outcome keeps it, whoever says otherwise."""
    job_id = await job(state)
    assert await state.jobs.claims.claim(FIRST) == job_id
    done = JobTrack(track(0), 0, "updated")
    failed = JobTrack(track(1), 1, "failed", "pds_refused", "Your server refused the request.")

    assert await state.jobs.settle_track(job_id, FIRST, done)
    assert not await state.jobs.settle_track(job_id, FIRST, JobTrack(track(0), 0, "failed"))
    assert not await state.jobs.settle_track(job_id, SECOND, failed)
    clock.forward(seconds=31)
    assert await state.jobs.claims.claim(SECOND) == job_id
    assert not await state.jobs.settle_track(job_id, FIRST, failed)
    assert await state.jobs.settle_track(job_id, SECOND, failed)

    assert (await state.jobs.find(job_id)).tracks == (done, failed, JobTrack(track(2), 2, "preserved"))


async def test_each_track_has_its_own_tries(state: State, clock: HandClock) -> None:
    """What was tried at one is not held against the next, nor against those after a pause."""
    job_id = await job(state)
    for _ in range(3):
        await state.jobs.claims.claim(FIRST)
        clock.forward(seconds=31)
    await state.jobs.claims.claim(FIRST)

    assert await state.jobs.settle_track(job_id, FIRST, JobTrack(track(0), 0, "updated"))
    await state.jobs.claims.give_back(job_id, FIRST)

    await state.jobs.claims.claim(SECOND)
    assert await state.jobs.claims.attempt(job_id) == Attempt(1, clock())


async def test_unfinished_jobs_of_an_account_are_counted(state: State) -> None:
    """Nobody else's, and none that is settled."""
    for _ in range(3):
        await job(state)
    settled = await state.jobs.claims.claim(FIRST)
    assert settled is not None
    await state.jobs.complete(settled, FIRST, "completed", "3 tracks changed.")

    assert [await state.jobs.unfinished(did) for did in (MARA, BEN)] == [2, 0]


async def test_a_settled_job_is_told_of_for_a_month(state: State, clock: HandClock) -> None:
    """Then it goes with its tracks, and its key may be used again."""
    job_id = await job(state, key="key")
    await state.jobs.claims.claim(FIRST)
    await state.jobs.complete(job_id, FIRST, "failed", "One track could not be changed.")

    found = await state.jobs.find(job_id)
    assert (found.status, found.message, found.completed_at) == (
        "failed",
        "One track could not be changed.",
        clock(),
    )
    assert await state.jobs.claims.claim(SECOND) is None
    clock.forward(days=30)
    await state.jobs.forget_old()
    assert await state.jobs.find(job_id) is None
    assert await job(state, key="key", request="another") != job_id
