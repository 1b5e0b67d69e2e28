"""Whether the lists of pages show what labels say is for adults: only to accounts that chose so."""

from readapi.http.viewer import SignedIn
from readapi.state.state import State


async def shows_adult(state: State, who: SignedIn | None) -> bool:
    """The account's choice in its settings; False without an account. JSON has a parameter instead."""
    return who is not None and (await state.preferences.of(who.did)).show_adult
