"""Whether work waits is one question to the database, whatever work it is."""

from datetime import timedelta

from readapi.state.db.claims import WaitingRows
from readapi.state.state import State
from tests.readapi.state.people import BEN, HandClock
from tests.readapi.state.publishing.made import FIRST, job, upload


def waiting_rows(state: State) -> WaitingRows:
    return WaitingRows(state.database, state.uploads.claims, state.jobs.claims)


async def test_an_upload_waits_until_it_is_claimed_and_again_after_its_pause(
    state: State, clock: HandClock
) -> None:
    waiting, claims = waiting_rows(state), state.uploads.claims
    at_first = await waiting.exist()
    put = await upload(state)
    received = await waiting.exist()
    await claims.claim(FIRST)
    claimed = await waiting.exist()
    await claims.give_back(put.id, FIRST, timedelta(seconds=10))
    paused = await waiting.exist()
    clock.forward(seconds=10)

    assert (at_first, received, claimed, paused) == (False, True, False, False)
    assert await waiting.exist()


async def test_a_row_whose_holder_is_gone_waits(state: State, clock: HandClock) -> None:
    waiting = waiting_rows(state)
    await upload(state)
    await state.uploads.claims.claim(FIRST)

    clock.forward(seconds=FIRST.patience.total_seconds())

    assert await waiting.exist()


async def test_a_job_waits_until_it_is_settled(state: State) -> None:
    """Whatever became of uploads."""
    waiting = waiting_rows(state)
    put, job_id = await upload(state), await job(state, did=BEN)
    await state.uploads.claims.claim(FIRST)
    await state.uploads.complete(put.id, FIRST, "The track is published.")
    queued = await waiting.exist()
    await state.jobs.claims.claim(FIRST)
    await state.jobs.complete(job_id, FIRST, "completed", "1 of 1 tracks")
    await state.jobs.claims.give_back(job_id, FIRST)

    assert queued
    assert not await waiting.exist()
