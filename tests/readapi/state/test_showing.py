"""What people show: kept only where they chose."""

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
