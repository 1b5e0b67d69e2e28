"""Template variables of public pages and players: metadata, tracks and texts."""

from collections.abc import Sequence, Set
from urllib.parse import urlencode

from readapi.pages.public import metadata
from readapi.pages.public.content import ArtistPage
from readapi.pages.public.metadata import LIST_SIZE, TRACK_SIZE, Metadata, Size
from readapi.pages.public.player import PlayerTrack, iframe_html, make_player_track
from readapi.pages.urls import Addresses
from schemas import label_policy
from schemas.api.albums import AlbumMetadata
from schemas.api.artists import Artist
from schemas.api.playlists import Playlist
from schemas.api.tracks import Track
from schemas.pictures import picture_of

View = dict[str, object]
_WAVE_HEIGHT = 40
_TRACK_SIZES = (("Normal", TRACK_SIZE), ("Small", (400, 80)), ("With a large picture", (400, 480)))
_LIST_SIZES = (("Normal", LIST_SIZE), ("Small", (300, 165)), ("Large", (600, 600)))


def of_track(track: Track, size: Size | None, addresses: Addresses, start: int = 0) -> View:
    """For the player and the page of a track. `size`: of its picture, if it is known; so for lists.

    `start`: the second at which the page's player begins.
    """
    heard = make_player_track(track, addresses)
    head = metadata.of_track(track, heard, addresses, size)
    return {
        "head": head,
        "sound": heard,
        "track": track,
        "start": start,
        "download": _download(track, heard),
        "notice": _notice(track.labels),
        "embed_html": _frame(head, TRACK_SIZE),
        "embed_sizes": _TRACK_SIZES,
    }


def of_album(
    album: AlbumMetadata,
    tracks: list[Track],
    elsewhere: Set[str],
    size: Size | None,
    addresses: Addresses,
    *,
    adult: bool,
) -> View:
    """For the player and the page of an album. `elsewhere`: the uris of tracks that no archive has.

    `adult`: whether the tracks are with those for adults.
    """
    sounds = [make_player_track(track, addresses) for track in tracks]
    return {
        **_archive(addresses.page(f"/albums/{album.id}/archive"), tracks, sounds, elsewhere, adult=adult),
        **_list(metadata.of_album(album, sounds, addresses, size), sounds, album.image_url, album.labels),
        "kind": "Album",
        "title": album.title,
        "description": album.description,
        "created_at": album.created_at,
        "owner": album.artist,
        "owner_page": addresses.artist(album.artist_handle, album.artist_did),
    }


def of_playlist(
    playlist: Playlist,
    tracks: list[Track],
    elsewhere: Set[str],
    size: Size | None,
    addresses: Addresses,
    *,
    adult: bool,
) -> View:
    """For the player and the page of a playlist; see `of_album`."""
    sounds = [make_player_track(track, addresses) for track in tracks]
    archive = addresses.page(f"/lists/playlists/{playlist.id}/archive")
    return {
        **_archive(archive, tracks, sounds, elsewhere, adult=adult),
        **_list(
            metadata.of_playlist(playlist, sounds, addresses, size),
            sounds,
            playlist.image_url,
            playlist.labels,
        ),
        "kind": "Playlist",
        "title": playlist.name,
        "description": None,
        "created_at": playlist.created_at,
        "owner": playlist.owner_display_name or playlist.owner_handle,
        "owner_page": addresses.artist(playlist.owner_handle, playlist.owner_did),
    }


def of_shelf(shelf: ArtistPage, cursor: str | None, addresses: Addresses) -> View:
    """For the page of an artist. `cursor` leads to older tracks."""
    sounds = [make_player_track(track, addresses) for track in shelf.tracks]
    head = metadata.of_artist(shelf.artist, sounds, addresses)
    return {
        "head": head,
        "artist": shelf.artist,
        "notice": _notice(shelf.artist.labels),
        "albums": shelf.albums,
        "playlists": shelf.playlists,
        "likes": shelf.likes,
        "sounds": sounds,
        "first": first_playable(sounds),
        "older": onward(cursor),
        "embed_html": _frame(head, LIST_SIZE),
        "embed_sizes": _LIST_SIZES,
    }


def of_artist_player(artist: Artist, tracks: list[Track], addresses: Addresses) -> View:
    """For the player of an artist's newest tracks."""
    sounds = [make_player_track(track, addresses) for track in tracks]
    head, name = metadata.of_artist(artist, sounds, addresses), artist.display_name or artist.handle
    picture = picture_of(artist.avatar_url)
    first = first_playable(sounds)
    return {"head": head, "title": name, "owner": name, "sounds": sounds, "picture": picture, "first": first}


def draw_waveform(peaks: bytes | None) -> str | None:
    """The SVG path of a waveform: a bar for each number from 0 to 255, 40 high, in steps of one."""
    if peaks is None:
        return None
    heights = (max(1, round(peak * _WAVE_HEIGHT / 255)) for peak in peaks)
    return "".join(f"M{at} {_WAVE_HEIGHT}v-{height}" for at, height in enumerate(heights))


def onward(cursor: str | None) -> str | None:
    """The query that leads from a page to the one at the cursor; None on the last one."""
    return f"?{urlencode({'cursor': cursor})}" if cursor else None


def first_playable(sounds: list[PlayerTrack]) -> PlayerTrack | None:
    """The first that this viewer can hear."""
    return next((sound for sound in sounds if sound.source), None)


def _list(head: Metadata, sounds: list[PlayerTrack], image: str | None, labels: Sequence[str]) -> View:
    return {
        "head": head,
        "labels": labels,
        "notice": _notice(labels),
        "sounds": sounds,
        "first": first_playable(sounds),
        "seconds": sum(sound.seconds or 0 for sound in sounds),
        "picture": metadata.choose_cover(image, sounds),
        "embed_html": _frame(head, LIST_SIZE),
        "embed_sizes": _LIST_SIZES,
    }


def _download(track: Track, sound: PlayerTrack) -> str | None:
    """The address of the original, if this viewer may download it."""
    return (
        f"{track.stream_url.removesuffix('stream')}download" if sound.source and track.downloadable else None
    )


def _archive(
    address: str, tracks: list[Track], sounds: list[PlayerTrack], elsewhere: Set[str], *, adult: bool
) -> View:
    """The address of all originals, if this viewer may download any, and how many."""
    kept = sum(
        _download(track, sound) is not None and track.uri not in elsewhere
        for track, sound in zip(tracks, sounds, strict=True)
    )
    query = "?adult=true" if adult else ""
    return {"archive": address + query if kept else None, "kept": kept}


def _notice(labels: Sequence[str]) -> str | None:
    return label_policy.notice_of(label_policy.effect_of(labels), labels)


def _frame(head: Metadata, size: tuple[int, int]) -> str | None:
    return None if head.player is None else iframe_html(head.player, head.title, *size)
