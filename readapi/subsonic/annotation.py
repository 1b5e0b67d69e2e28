"""Methods that write likes, and count plays."""

from typing import Annotated

from pydantic import Field

from readapi.audio.select import check_listening
from readapi.errors import InvalidRequest
from readapi.http.supporters import Supporters
from readapi.http.viewer import SignedIn
from readapi.index.lookups import Index
from readapi.index.queries import tracks
from readapi.pds.records import reactions
from readapi.pds.writing import Writing
from readapi.state.state import State
from readapi.subsonic import ids
from readapi.subsonic.rendering import Content
from schemas.stored import Card

MOST_AT_ONCE = 50

Some = Annotated[list[str], Field(max_length=MOST_AT_ONCE)]
_NONE: tuple[str, ...] = ()


async def star(
    index: Index,
    who: SignedIn,
    state: State,
    writing: Writing,
    id: Some = _NONE,  # type: ignore[assignment]
    album_id: Some = _NONE,  # type: ignore[assignment]
    artist_id: Some = _NONE,  # type: ignore[assignment]
) -> Content:
    """Like songs."""
    for card in _songs(index, who, id, album_id, artist_id):
        state.activity.note("like", who.did, "")
        await reactions.like_track(writing, index, who, card)
    return {}


async def unstar(
    index: Index,
    who: SignedIn,
    writing: Writing,
    id: Some = _NONE,  # type: ignore[assignment]
    album_id: Some = _NONE,  # type: ignore[assignment]
    artist_id: Some = _NONE,  # type: ignore[assignment]
) -> Content:
    """Remove likes of songs."""
    for card in _songs(index, who, id, album_id, artist_id):
        await reactions.unlike_track(writing, index, who, card)
    return {}


async def scrobble(
    id: Some,
    index: Index,
    who: SignedIn,
    supporters: Supporters,
    state: State,
    writing: Writing,
    submission: bool = True,
) -> Content:
    """Count plays of songs, as of now, whatever time is sent.

    What is playing now is told to others if the account chose to show it.
    """
    cards = [_song(index, who, name) for name in id]
    listener = await supporters.among(who.viewer, cards)
    for card in cards:
        check_listening(card.access, listener)
    if not submission:
        await reactions.note_playing(state, who, cards[-1])
        return {}
    for card in cards:
        await reactions.count_play(writing, state, who, "", card)
    return {}


def _songs(index: Index, who: SignedIn, names: Some, albums: Some, artists: Some) -> list[Card]:
    """The songs, all of which are found before the first is liked."""
    if albums or artists or any(ids.read_id(name).kind != ids.TRACK for name in names):
        raise InvalidRequest("Only songs can be liked here, not artists or albums.")
    return [_song(index, who, name) for name in names]


def _song(index: Index, who: SignedIn, name: str) -> Card:
    return tracks.find_track(index, ids.read_name(name, ids.TRACK), who.viewer)
