"""What people show: kept only where they chose."""

import asyncio

from readapi.state.state import State

ONE, TWO = "at://did:plc:mara/fm.svc.list/1", "at://did:plc:mara/fm.svc.list/2"


async def test_a_choice_is_kept_changed_and_forgotten(state: State) -> None:
    """Of what nobody chose for, nothing is said."""
    await state.showing.choose(ONE, False)
    chosen = await state.showing.among([ONE, TWO])
    await state.showing.choose(ONE, True)
    changed = await state.showing.among([ONE, TWO])
    await state.showing.choose(ONE, None)

    assert (chosen, changed) == ({ONE: False}, {ONE: True})
    assert await state.showing.among([ONE, TWO]) == await state.showing.among([]) == {}


async def test_who_asks_while_others_are_answered_hears_of_what_was_chosen_meanwhile(state: State) -> None:
    """Questions that come during a query share the next one, which sees every choice made before them."""
    earlier = [asyncio.create_task(state.showing.of(ONE)) for _ in range(3)]
    await asyncio.sleep(0)
    await state.showing.choose(ONE, False)
    later = [state.showing.of(subject) for subject in (ONE, TWO, ONE)]

    assert await asyncio.gather(*later) == [False, None, False]
    assert len(set(await asyncio.gather(*earlier))) == 1


async def test_a_client_that_hangs_up_takes_no_answer_from_others(state: State) -> None:
    """The query goes on for whoever waits with them."""
    await state.showing.choose(TWO, True)
    gone, other = (asyncio.create_task(state.showing.of(TWO)) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()

    assert await other is True
    assert gone.cancelled()
