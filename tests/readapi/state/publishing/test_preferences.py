"""Templates and preferences are kept whole."""

import asyncio

from readapi.state.publishing.preferences import Preferences
from readapi.state.state import State
from schemas.publishing import DEFAULT
from schemas.rights import Ownership
from tests.readapi.state.people import BEN, MARA
from tests.readapi.state.publishing.made import ALBUM, OWNER_ONLY


async def test_who_chose_nothing_has_no_preferences(state: State) -> None:
    """No template, no scrobbling, no rights; what somebody else chose is theirs."""
    await state.preferences.put(MARA, Preferences(OWNER_ONLY, scrobbling=True))

    assert await state.preferences.of(BEN) == Preferences(None, scrobbling=False, rights=None)


async def test_preferences_replace_each_other_whole(state: State) -> None:
    """Rights included."""
    rights = Ownership.model_validate({"masterOwner": {"name": "Tide Records"}})
    chosen = Preferences(OWNER_ONLY, scrobbling=True, rights=rights, show_adult=True, show_playing=True)
    await state.preferences.put(MARA, chosen)
    assert await state.preferences.of(MARA) == chosen

    await state.preferences.put(MARA, Preferences())

    assert await state.preferences.of(MARA) == Preferences()


async def test_an_album_has_one_template_or_none(state: State) -> None:
    """The last one given."""
    other = OWNER_ONLY.model_copy(update={"attach_rights": True})

    await state.album_templates.put(ALBUM, OWNER_ONLY)
    await state.album_templates.put(ALBUM, other)
    assert await state.album_templates.get(ALBUM) == other
    await state.album_templates.remove(ALBUM)

    assert await state.album_templates.get(ALBUM) is None


async def test_choosing_twice_at_once_fails_for_nobody(state: State) -> None:
    """One of the choices stands, of a person's preferences and of an album's template."""
    chosen = [Preferences(scrobbling=scrobbling) for scrobbling in (True, False)] * 4

    await asyncio.gather(
        *(state.preferences.put(MARA, one) for one in chosen),
        *(state.album_templates.put(ALBUM, DEFAULT) for _ in chosen),
    )

    assert await state.preferences.of(MARA) in chosen
    assert await state.album_templates.get(ALBUM) == DEFAULT
