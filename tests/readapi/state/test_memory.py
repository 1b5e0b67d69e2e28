"""What is remembered of sessions is never older than a second, nor than this process's own writes."""

from readapi.state.state import State, open_state
from schemas.settings import Settings
from tests.readapi.state.people import HandClock, account


async def test_another_process_is_believed_after_a_second(
    state: State, state_settings: Settings, clock: HandClock
) -> None:
    """Until then a session that it ended may be served here."""
    session_id = await state.sessions.begin(await account(state))
    session = await state.sessions.find(session_id)
    assert session is not None
    async with open_state(state_settings, clock) as other:
        await other.sessions.end(session.key)

    at_once = await state.sessions.find(session_id)
    clock.forward(seconds=1)
    later = await state.sessions.find(session_id)

    assert at_once == session
    assert later is None


async def test_a_write_here_is_seen_here_at_once(state: State) -> None:
    """Who signs out is signed out."""
    mara = await account(state)
    session_id = await state.sessions.begin(mara)
    token, _ = await state.developer_tokens.create(mara, "notebook")
    session, found = await state.sessions.find(session_id), await state.developer_tokens.find(token)
    assert session is not None
    assert found is not None

    await state.sessions.end(session.key)
    await state.developer_tokens.remove(mara.did, found.id)

    assert await state.sessions.find(session_id) is None
    assert await state.developer_tokens.find(token) is None
