"""An acknowledged upload is worked at by one process at a time, until it is settled once."""

import asyncio
from datetime import timedelta

import pytest

from readapi.state.db.claims import Attempt, TakenOver
from readapi.state.db.publishing_tables import uploads
from readapi.state.state import State
from schemas.ids import Did
from tests.readapi.state.people import BEN, MARA, START, HandClock
from tests.readapi.state.publishing.made import AUDIO, FIRST, GRANT, SECOND, upload


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
    """However they hurry."""
    put = [await upload(state, number, Did(f"did:plc:{number}")) for number in range(3)]

    claimed = await asyncio.gather(*(state.uploads.claims.claim(who) for who in (FIRST, SECOND) * 4))
    while len(found := [upload_id for upload_id in claimed if upload_id]) < 3:
        claimed.append(await state.uploads.claims.claim(FIRST))

    assert sorted(found) == [one.id for one in put]
    assert await state.uploads.claims.claim(SECOND) is None


async def test_no_account_holds_up_the_others(state: State, clock: HandClock) -> None:
    """Of each one upload is under way at a time; whoever was served longest ago is next."""
    claims = state.uploads.claims
    first, second, third = [await upload(state, number) for number in range(3)]
    clock.forward(seconds=1)
    bens = [await upload(state, number, BEN) for number in (3, 4)]

    assert [await claims.claim(FIRST), await claims.claim(SECOND)] == [first.id, bens[0].id]
    assert await claims.claim(FIRST) is None
    clock.forward(seconds=1)
    await state.uploads.complete(first.id, FIRST, "The track is published.")
    await claims.give_back(first.id, FIRST)
    clock.forward(seconds=1)
    await state.uploads.complete(bens[0].id, SECOND, "The track is published.")
    await claims.give_back(bens[0].id, SECOND)

    assert [await claims.claim(FIRST), await claims.claim(SECOND)] == [second.id, bens[1].id]
    clock.forward(seconds=31)
    assert await claims.claim(FIRST) == second.id
    assert third.id not in (await claims.claim(SECOND), await claims.claim(SECOND))


async def test_who_has_to_pause_lets_their_other_uploads_go_on(state: State, clock: HandClock) -> None:
    """After those of everybody else."""
    claims = state.uploads.claims
    mine = [await upload(state, number) for number in range(2)]
    await claims.claim(FIRST)
    await claims.give_back(mine[0].id, FIRST, timedelta(seconds=5))
    bens = await upload(state, 2, BEN)

    assert [await claims.claim(who) for who in (FIRST, SECOND)] == [bens.id, mine[1].id]


async def test_a_try_counts_before_it_begins(state: State, clock: HandClock) -> None:
    """So one that ends its process is known; one that was broken off for other reasons is taken back."""
    claims, began = state.uploads.claims, clock()
    put = await upload(state)

    for number in (1, 2):
        await claims.claim(FIRST)
        assert await claims.attempt(put.id) == Attempt(number, began)
        clock.forward(seconds=31)
    await claims.claim(FIRST)
    await claims.give_back(put.id, FIRST, is_counted=True)
    await claims.claim(SECOND)
    assert await claims.attempt(put.id) == Attempt(4, began)
    await claims.give_back(put.id, SECOND)
    await claims.claim(FIRST)
    assert await claims.attempt(put.id) == Attempt(4, began)


async def test_what_an_account_has_waiting_is_counted(state: State) -> None:
    """Its own, and not what is settled."""
    for number in range(3):
        await upload(state, number)
    await upload(state, 3, BEN)
    assert await state.uploads.claims.claim(FIRST) == "upload-0"
    await state.uploads.fail("upload-0", FIRST, "pds_refused", "Your server refused the request.")

    assert await state.uploads.waiting(MARA) == (2, 2 * AUDIO.bytes)


async def test_to_claim_costs_as_much_as_waits_not_as_much_as_is_kept(state: State) -> None:
    """Of a month's settled uploads none is read but by index."""
    await upload(state)
    row = {
        "did": MARA,
        "grant_id": GRANT,
        "kind": "publish",
        "track_uri": "at://",
        "file_id": "f",
        "wanted": "{}",
    }
    how = {"phase": "completed", "progress_pct": 100, "message": "", "version": 2, "status": "completed"}
    when = {"created_at": START, "completed_at": START, "claimed_until": START}
    async with state.database.writing() as connection:
        many = [{**row, **how, **when, "id": f"old-{n}", "did": f"did:plc:{n % 500}"} for n in range(5000)]
        await connection.execute(uploads.insert(), many)
        if not state.database.is_sqlite:
            await connection.exec_driver_sql("analyze uploads")
    sentence = state.uploads.claims._next(START).compile(
        state.database.engine.sync_engine, compile_kwargs={"literal_binds": True}
    )
    explain = "explain query plan" if state.database.is_sqlite else "explain"
    async with state.database.reading() as connection:
        plan = "\n".join(str(row) for row in await connection.exec_driver_sql(f"{explain} {sentence}"))

    assert "ix_uploads_status" in plan, plan
    assert "ix_uploads_did" in plan, plan
    assert "scan uploads" not in plan.lower(), plan
    assert "seq scan" not in plan.lower(), plan


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
    assert await state.uploads.claims.claim(FIRST) == put.id
    await state.uploads.fail(put.id, FIRST, "pds_refused", "Your server refused the request.")

    assert waiting.did == put.did
    assert (await state.uploads.waiting(put.did))[0] == 1
    clock.forward(days=29)
    await state.uploads.forget_old()
    assert (await state.uploads.find(put.id)).error == "pds_refused"
    clock.forward(days=1)
    await state.uploads.forget_old()
    assert await state.uploads.find(put.id) is None
    assert await state.uploads.find(waiting.id) is not None
