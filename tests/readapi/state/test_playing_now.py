"""What accounts are listening to is read only while they show it."""

from datetime import timedelta

from readapi.state.publishing.preferences import Preferences
from readapi.state.state import State
from schemas.ids import Handle
from tests.readapi.state.people import BEN, MARA

TRACK = f"at://{BEN}/fm.svc.track/3kabcdefghijk"


async def test_what_was_noted_while_its_account_turned_that_off_is_not_told(state: State) -> None:
    """Nor what an account that never chose is listening to."""
    await state.preferences.change(MARA, lambda _: Preferences(show_playing=True))
    for did in (MARA, BEN):
        await state.playing_now.put(did, Handle("who.example"), TRACK, "{}", timedelta(minutes=3))
    shown = [one.did for one in await state.playing_now.latest(10)]

    await state.preferences.change(MARA, lambda _: Preferences(scrobbling=True))

    assert shown == [MARA]
    assert await state.playing_now.latest(10) == []
    assert [await state.playing_now.of(did) for did in (MARA, BEN)] == [None, None]
