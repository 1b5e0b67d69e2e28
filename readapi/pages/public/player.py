"""A track as a player shows it: the URL of its audio, or a sentence that says why it is unavailable."""

from dataclasses import dataclass
from html import escape

from readapi.pages import text
from readapi.pages.urls import Addresses
from schemas.access import Listening
from schemas.api.tracks import Track
from schemas.audio import MIME_TYPES, RENDITION_TYPE
from schemas.ids import Cid
from schemas.pictures import picture_of
from schemas.spaces import is_in_space

# The player's script may run and links may open pages: no origin, no cookies, no storage.
_SANDBOX = "allow-scripts allow-popups allow-popups-to-escape-sandbox"


@dataclass(frozen=True, slots=True)
class PlayerTrack:
    """One row of a player. Exactly one of `source` and `silence` (why it cannot be played) is set."""

    title: str
    artist: str
    page: str
    artist_page: str
    picture: Cid | None
    seconds: int | None
    source: str | None
    silence: str | None
    play: str | None = None  # where a play is counted, if plays of this track are
    media_type: str | None = None  # of the audio, if the record states it
    is_gated: bool = False  # the viewer may not listen
    is_for_accounts: bool = False  # signing in may give access
    invitation: str | None = None  # to sign in, if that may give access

    @property
    def length(self) -> str | None:
        """How long it lasts, as a clock shows it."""
        return text.format_clock(self.seconds) if self.seconds else None


def make_player_track(track: Track, addresses: Addresses) -> PlayerTrack:
    """The player's row of a track for one viewer. A gated track has no URL of its audio."""
    listening = track.publishing.access.listening
    playable = not track.gated and track.audio_storage != "none" and text.is_web_address(track.stream_url)
    return PlayerTrack(
        title=track.title,
        artist=track.artist,
        page=addresses.track(track.uri),
        artist_page=addresses.artist_of(track),
        picture=choose_picture(track),
        seconds=track.duration,
        source=track.stream_url if playable else None,
        silence=None if playable else _silence(listening if track.gated else "public", track.artist),
        play=addresses.play(track.id) if playable and not is_in_space(track.uri) else None,
        media_type=_media_type(track) if playable else None,
        is_gated=track.gated,
        is_for_accounts=track.gated and listening in ("signed_in", "supporters"),
        invitation=_invitation(listening) if track.gated else None,
    )


def choose_picture(track: Track) -> Cid | None:
    """The track's own picture, otherwise its album's or its artist's; of those that this service shows."""
    return next((cid for cid in map(picture_of, _pictures(track)) if cid is not None), None)


def choose_picture_url(track: Track) -> str | None:
    """The same at the artist's server, in its original format, or wherever the record says."""
    return next((url for url in _pictures(track) if text.is_web_address(url)), None)


def _pictures(track: Track) -> tuple[str | None, ...]:
    return (track.image_url, track.album.image_url if track.album else None, track.artist_avatar_url)


def _media_type(track: Track) -> str | None:
    """The media type of the original, or of the rendition that viewers without download access get."""
    is_rendition = track.audio_storage == "managed" and not track.downloadable
    kind = RENDITION_TYPE if is_rendition else track.file_type
    return next((media_type for name, media_type in MIME_TYPES.items() if name == kind), None)


def _silence(listening: Listening, artist: str) -> str:
    match listening:
        case "public":
            return "This track has no recording."
        case "signed_in":
            return "Only people who are signed in can listen."
        case "supporters":
            return f"Only supporters of {artist} can listen."
        case "owner":
            return f"Only {artist} can listen."
        case "space":
            return "The artist does not share this recording publicly."


def _invitation(listening: Listening) -> str | None:
    match listening:
        case "signed_in" | "supporters":
            return "Sign in to listen"
        case "owner":
            return "If that is you, sign in to listen"
        case "public" | "space":
            return None


def iframe_html(address: str, title: str, width: int, height: int) -> str:
    """The HTML of an iframe for any page, with every value escaped."""
    return (
        f'<iframe src="{escape(address)}" title="{escape(text.one_line(title))}" '
        f'width="{width}" height="{height}" '
        f'style="border:0;max-width:100%" loading="lazy" allow="autoplay" sandbox="{_SANDBOX}"></iframe>'
    )
