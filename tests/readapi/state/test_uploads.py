"""An acknowledged upload is worked at by one process at a time, until it is settled once."""

import asyncio

import pytest

from readapi.state.claims import TakenOver
from readapi.state.state import State
from tests.readapi.state.people import BEN, MARA, HandClock
from tests.readapi.state.publishing import FIRST, SECOND, upload


async def test_an_upload_is_found_as_it_was_put(state: State) -> None:
    """Waiting, with all that is wanted."""
    put = await upload(state)

    assert await state.uploads.find(put.id) == put
    assert (put.status, put.phase, put.progress_pct, put.version) == ("pending", "received", 0, 1)
    assert await state.uploads.find("nobody's") is None


async def test_the_newest_uploads_of_an_account_are_found(state: State, clock: HandClock) -> None:
    """Newest first, no more than asked for, and nobody else's."""
    put = []
    for number in range(3):
        put.append(await upload(state, number))
        clock.forward(seconds=1)

    assert await state.uploads.newest(MARA, 2) == [put[2], put[1]]
    assert await state.uploads.newest(BEN, 2) == []


async def test_of_many_claimants_each_upload_has_one(state: State) -> None:
    """However they hurry; the one that has waited longest goes first."""
    put = [await upload(state, number) for number in range(3)]

    claimed = await asyncio.gather(*(state.uploads.claims.claim(who) for who in (FIRST, SECOND) * 4))
    while len(found := [upload_id for upload_id in claimed if upload_id]) < 3:
        claimed.append(await state.uploads.claims.claim(FIRST))

    assert sorted(found) == [one.id for one in put]
    assert await state.uploads.claims.claim(SECOND) is None


async def test_a_silent_claimant_is_replaced_and_can_say_nothing_more(state: State, clock: HandClock) -> None:
    """A process that was only slow does not disturb the one that took over."""
    put = await upload(state)
    assert await state.uploads.claims.claim(FIRST) == put.id
    clock.forward(seconds=29)
    assert await state.uploads.claims.renew(put.id, FIRST)
    clock.forward(seconds=29)
    assert await state.uploads.claims.claim(SECOND) is None

    clock.forward(seconds=1)

    assert await state.uploads.claims.claim(SECOND) == put.id
    assert not await state.uploads.claims.renew(put.id, FIRST)
    with pytest.raises(TakenOver):
        await state.uploads.advance(put.id, FIRST, "record", 80, "Late.")
    with pytest.raises(TakenOver):
        await state.uploads.fail(put.id, FIRST, "internal", "Late.")
    assert (await state.uploads.find(put.id)).status == "processing"


async def test_what_is_given_back_can_be_claimed_at_once(state: State) -> None:
    """A process that stops lets others go on."""
    put = await upload(state)
    await state.uploads.claims.claim(FIRST)

    await state.uploads.claims.give_back(put.id, FIRST)

    assert await state.uploads.claims.claim(SECOND) == put.id


async def test_a_claim_is_not_taken_for_a_later_one_of_the_same_process(
    state: State, clock: HandClock
) -> None:
    """Each has a name of its own; who lost one cannot speak in the name of the next."""
    put = await upload(state)
    lost, later = FIRST.anew(), FIRST.anew()
    await state.uploads.claims.claim(lost)
    clock.forward(seconds=31)

    assert await state.uploads.claims.claim(later) == put.id

    with pytest.raises(TakenOver):
        await state.uploads.advance(put.id, lost, "record", 80, "Late.")


async def test_what_is_settled_stays_as_it_was_settled(state: State) -> None:
    """Whoever settled it cannot do so again."""
    put = await upload(state)
    await state.uploads.claims.claim(FIRST)
    await state.uploads.complete(put.id, FIRST, "The track is published.")

    with pytest.raises(TakenOver):
        await state.uploads.fail(put.id, FIRST, "internal", "Late.")

    assert (await state.uploads.find(put.id)).status == "completed"


async def test_every_step_is_a_new_version(state: State) -> None:
    """So that whoever watches knows what they have not seen."""
    put = await upload(state)
    await state.uploads.claims.claim(FIRST)

    await state.uploads.advance(put.id, FIRST, "storing", 40, "The file is being stored.")
    await state.uploads.complete(put.id, FIRST, "The track is published.")

    done = await state.uploads.find(put.id)
    assert (done.status, done.phase, done.progress_pct, done.version) == ("completed", "completed", 100, 3)
    assert await state.uploads.claims.claim(SECOND) is None


async def test_a_settled_upload_is_told_of_for_a_month(state: State, clock: HandClock) -> None:
    """And its files are nobody's from the moment that it is settled."""
    put, waiting = await upload(state, 1), await upload(state, 2)
    await state.uploads.claims.claim(FIRST)
    await state.uploads.fail(put.id, FIRST, "pds_refused", "Your own server refused.")

    assert await state.uploads.unfinished() == {waiting.id}
    clock.forward(days=29)
    await state.uploads.forget_old()
    assert (await state.uploads.find(put.id)).error == "pds_refused"
    clock.forward(days=1)
    await state.uploads.forget_old()
    assert await state.uploads.find(put.id) is None
    assert await state.uploads.find(waiting.id) is not None
