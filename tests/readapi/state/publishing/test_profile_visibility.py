"""What people show: kept only where they chose."""

import asyncio

import pytest

from readapi.state.publishing import profile_visibility
from readapi.state.state import State, open_state
from schemas.settings import Settings

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


@pytest.mark.parametrize("reread_seconds", [0, 1000])
@pytest.mark.parametrize("most_kept", [0, 1, 5000])
async def test_a_choice_made_by_another_process_takes_effect_at_once(
    state: State,
    state_settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    reread_seconds: float,
    most_kept: int,
) -> None:
    """Whether choices are kept in memory, are too many for it, or were read a moment ago."""
    monkeypatch.setattr(profile_visibility, "_REREAD_SECONDS", reread_seconds)
    monkeypatch.setattr(profile_visibility, "_TOO_MANY_SECONDS", reread_seconds)
    monkeypatch.setattr(profile_visibility, "MOST_KEPT", most_kept)
    chosen = [(ONE, False), (TWO, True), (ONE, True), (ONE, None), (TWO, False), (TWO, None)]
    expected: dict[str, bool | None] = {ONE: None, TWO: None}
    async with open_state(state_settings) as other:
        for subject, shown in chosen:
            assert [await state.showing.of(name) for name in expected] == list(expected.values())
            await other.showing.choose(subject, shown)
            expected[subject] = shown
            assert [await state.showing.of(name) for name in expected] == list(expected.values())


async def test_choices_are_read_once_while_the_state_stays_the_same(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite tells whether it does. PostgreSQL is asked each time."""
    await state.showing.choose(ONE, False)
    reading, queries = state.database.reading, 0

    def counted() -> object:
        nonlocal queries
        queries += 1
        return reading()

    monkeypatch.setattr(state.database, "reading", counted)
    answers = [await state.showing.of(subject) for subject in (ONE, TWO, ONE, ONE)]

    assert answers == [False, None, False, False]
    assert queries == (1 if state.database.is_sqlite else len(answers))
