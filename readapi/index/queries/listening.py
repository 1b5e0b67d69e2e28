"""What accounts are listening to, as others are told of it."""

from readapi.index.lookups import Index
from readapi.index.queries import tracks
from readapi.state.playing_now import Playing
from schemas.stored import Card


def find_heard_track(index: Index, playing: Playing) -> Card | None:
    """The public track of this index that an account is listening to; None: there is none to be told of."""
    if playing.track_uri is None or is_withheld(index, playing):
        return None
    card = index.track_at(playing.track_uri)
    return card if card is not None and tracks.is_public(card) else None


def is_withheld(index: Index, playing: Playing) -> bool:
    """Whether the account that is listening was taken down."""
    return index.takedowns.now.covers_any((playing.did,))


def is_told(index: Index, playing: Playing) -> bool:
    """Whether others are told: of a track of this index only while it is public."""
    if playing.track_uri is None:
        return not is_withheld(index, playing)
    return find_heard_track(index, playing) is not None
