"""A track as a player shows it: what to play, or one sentence that says why there is nothing to play."""

from dataclasses import dataclass

from readapi.pages import text
from readapi.pages.addresses import Addresses
from schemas.access import Listening
from schemas.api.tracks import Track
from schemas.spaces import is_in_space


@dataclass(frozen=True, slots=True)
class Sound:
    """One row of a player. Exactly one of `source` and `silence` is given."""

    title: str
    artist: str
    page: str
    artist_page: str
    image: str | None
    seconds: int | None
    source: str | None
    silence: str | None
    play: str | None = None  # where a play is counted, if plays of this track are
    is_gated: bool = False  # whoever looks may not listen
    is_for_accounts: bool = False  # signing in may be what it takes

    @property
    def length(self) -> str | None:
        """How long it lasts, as a clock shows it."""
        return text.clock(self.seconds) if self.seconds else None


def sound(track: Track, addresses: Addresses) -> Sound:
    """What a player makes of a track as one viewer gets it. A gated one has no address of its audio."""
    listening = track.publishing.access.listening
    playable = not track.gated and track.audio_storage != "none" and text.is_web_address(track.stream_url)
    return Sound(
        title=track.title,
        artist=track.artist,
        page=addresses.track(track.uri),
        artist_page=addresses.artist_of(track),
        image=track.image_url if text.is_web_address(track.image_url) else None,
        seconds=track.duration,
        source=track.stream_url if playable else None,
        silence=None if playable else _silence(listening if track.gated else "public", track.artist),
        play=addresses.play(track.id) if playable and not is_in_space(track.uri) else None,
        is_gated=track.gated,
        is_for_accounts=track.gated and listening in ("signed_in", "supporters"),
    )


def _silence(listening: Listening, artist: str) -> str:
    match listening:
        case "public":
            return "This track came without a recording."
        case "signed_in":
            return "Only people who are signed in can listen."
        case "supporters":
            return f"Only supporters of {artist} can listen."
        case "owner" | "space":
            return "The artist does not share this recording publicly."
