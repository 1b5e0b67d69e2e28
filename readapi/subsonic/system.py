"""Methods about the service itself and the account that asks, and those that have nothing to list here."""

from readapi.errors import NotOwner
from readapi.http.viewer import SignedIn
from readapi.index.lookups import Index
from readapi.index.queries.listening import find_heard_track
from readapi.oauth import scopes
from readapi.pages.public.metadata import SITE_NAME
from readapi.state.state import State
from readapi.subsonic import ids
from readapi.subsonic.rendering import Content
from readapi.subsonic.songs import Songs
from schemas.collections import SCROBBLING
from schemas.settings import Settings

MOST_LISTENING = 50
_EXTENSIONS = ("apiKeyAuthentication", "formPost")


def ping() -> Content:
    """Whether the API key is valid."""
    return {}


def get_license() -> Content:
    """No license is needed."""
    return {"license": {"valid": True}}


def get_open_subsonic_extensions() -> Content:
    """The extensions of the protocol that are offered."""
    return {"openSubsonicExtensions": [{"name": name, "versions": [1]} for name in _EXTENSIONS]}


def token_info(who: SignedIn) -> Content:
    """The account of the API key."""
    return {"tokenInfo": {"username": _name(who)}}


def get_music_folders() -> Content:
    """The one folder, which has everything."""
    return {"musicFolders": {"musicFolder": [{"id": ids.FOLDER, "name": SITE_NAME}]}}


def get_scan_status(index: Index) -> Content:
    """How many documents the index has; it is always up to date."""
    return {"scanStatus": {"scanning": False, "count": index.documents}}


def get_user(username: str, who: SignedIn, settings: Settings) -> Content:
    """What the account may do. Others are not told of."""
    if username not in (who.did, who.handle):
        raise NotOwner("Only your own account is shown.")
    can = {
        role: scopes.covers(who.scopes, f"repo:{getattr(settings.collections, need)}", settings.collections)
        for role, need in (("playlistRole", "list"), ("commentRole", "comment"))
    }
    roles = {
        "scrobblingEnabled": scopes.covers(who.scopes, SCROBBLING, settings.collections),
        "adminRole": False,
        "settingsRole": False,
        "downloadRole": True,
        "uploadRole": False,
        **can,
        "coverArtRole": False,
        "podcastRole": False,
        "streamRole": True,
        "jukeboxRole": False,
        "shareRole": False,
        "videoConversionRole": False,
    }
    return {"user": {"username": _name(who), **roles, "folder": [ids.FOLDER]}}


def get_lyrics() -> Content:
    """None: tracks have no lyrics here."""
    return {"lyrics": {"value": ""}}


def get_lyrics_by_song_id() -> Content:
    """None, likewise."""
    return {"lyricsList": {"structuredLyrics": []}}


async def get_now_playing(index: Index, who: SignedIn, state: State, songs: Songs) -> Content:
    """Who is listening to what: accounts that chose to show it."""
    now, entries = state.database.now(), []
    for playing in await state.playing_now.latest(MOST_LISTENING):
        if (card := find_heard_track(index, playing)) is None:
            continue
        for song in await songs.describe([card], who.viewer):
            minutes = int((now - playing.started_at).total_seconds() // 60)
            entries.append({**song, "username": playing.handle, "minutesAgo": minutes, "playerId": 0})
    return {"nowPlaying": {"entry": entries}}


def get_bookmarks() -> Content:
    """None: bookmarks are not kept here."""
    return {"bookmarks": {"bookmark": []}}


def get_play_queue() -> Content:
    """None: queues are not kept here."""
    return {}


def get_podcasts() -> Content:
    """None: what is here is music."""
    return {"podcasts": {"channel": []}}


def get_newest_podcasts() -> Content:
    """None, likewise."""
    return {"newestPodcasts": {"episode": []}}


def get_internet_radio_stations() -> Content:
    """None, likewise."""
    return {"internetRadioStations": {"internetRadioStation": []}}


def get_videos() -> Content:
    """None, likewise."""
    return {"videos": {"video": []}}


def get_shares() -> Content:
    """None: every track has a public page."""
    return {"shares": {"share": []}}


def _name(who: SignedIn) -> str:
    return who.name.removeprefix("@")
