"""Templates and preferences are kept whole."""

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from readapi.state.publishing.preferences import Preferences
from readapi.state.state import State
from schemas.publishing import DEFAULT
from schemas.rights import Ownership
from tests.readapi.state.people import BEN, MARA
from tests.readapi.state.publishing.made import ALBUM, OWNER_ONLY


async def test_who_chose_nothing_has_no_preferences(state: State) -> None:
    """No template, no scrobbling, no rights; what somebody else chose is theirs."""
    await state.preferences.change(MARA, lambda _: Preferences(OWNER_ONLY, scrobbling=True))

    assert await state.preferences.of(BEN) == Preferences(None, scrobbling=False, rights=None)


async def test_preferences_replace_each_other_whole(state: State) -> None:
    """Rights included."""
    rights = Ownership.model_validate({"masterOwner": {"name": "Tide Records"}})
    chosen = Preferences(OWNER_ONLY, scrobbling=True, rights=rights, show_adult=True, show_playing=True)
    await state.preferences.change(MARA, lambda _: chosen)
    assert await state.preferences.of(MARA) == chosen

    await state.preferences.change(MARA, lambda _: Preferences())

    assert await state.preferences.of(MARA) == Preferences()


async def test_an_album_has_one_template_or_none(state: State) -> None:
    """The last one given."""
    other = OWNER_ONLY.model_copy(update={"attach_rights": True})

    await state.album_templates.put(ALBUM, OWNER_ONLY)
    await state.album_templates.put(ALBUM, other)
    assert await state.album_templates.get(ALBUM) == other
    await state.album_templates.remove(ALBUM)

    assert await state.album_templates.get(ALBUM) is None


async def test_changes_at_once_all_stay(state: State) -> None:
    """Each of another preference, from the first one of an account on; and an album's template is one."""
    changes: list[dict[str, Any]] = [
        {"scrobbling": True},
        {"show_adult": True},
        {"show_playing": True},
        {"publishing_defaults": OWNER_ONLY},
    ]

    await asyncio.gather(
        *(state.preferences.change(MARA, partial(replace, **change)) for change in changes),
        *(state.album_templates.put(ALBUM, DEFAULT) for _ in changes),
    )

    assert await state.preferences.of(MARA) == Preferences(
        OWNER_ONLY, scrobbling=True, show_adult=True, show_playing=True
    )
    assert await state.album_templates.get(ALBUM) == DEFAULT


async def test_a_change_that_raises_stores_nothing(state: State) -> None:
    """The preferences stay as they were."""
    await state.preferences.change(MARA, lambda _: Preferences(scrobbling=True))

    def refuse(_: Preferences) -> Preferences:
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        await state.preferences.change(MARA, refuse)

    assert await state.preferences.of(MARA) == Preferences(scrobbling=True)
