"""A track as a player shows it: what to play, or one sentence that says why there is nothing to play."""

from dataclasses import dataclass

from readapi.audio.recording import MIME_TYPES, RENDITION_TYPE
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
    media_type: str | None = None  # of what is played, as far as the record tells
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
        image=picture(track),
        seconds=track.duration,
        source=track.stream_url if playable else None,
        silence=None if playable else _silence(listening if track.gated else "public", track.artist),
        play=addresses.play(track.id) if playable and not is_in_space(track.uri) else None,
        media_type=_media_type(track) if playable else None,
        is_gated=track.gated,
        is_for_accounts=track.gated and listening in ("signed_in", "supporters"),
    )


def picture(track: Track) -> str | None:
    """The track's own, else its album's, else its artist's."""
    urls = (track.image_url, track.album.image_url if track.album else None, track.artist_avatar_url)
    return next((url for url in urls if text.is_web_address(url)), None)


def _media_type(track: Track) -> str | None:
    """Of the original, or of the rendition that those get who may only listen to a file of ours."""
    is_rendition = track.audio_storage == "managed" and not track.downloadable
    kind = RENDITION_TYPE if is_rendition else track.file_type
    return next((media_type for name, media_type in MIME_TYPES.items() if name == kind), None)


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
