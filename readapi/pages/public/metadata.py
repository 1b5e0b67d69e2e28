"""Metadata in the head of public pages: OpenGraph, Twitter's player card, JSON-LD.

All of it is built from the shapes of the API's responses.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from readapi.pages import text
from readapi.pages.public import json_ld
from readapi.pages.public.player import PlayerTrack
from readapi.pages.urls import Addresses, album_feed, artist_feed, playlist_feed
from schemas.api.albums import AlbumMetadata
from schemas.api.artists import Artist
from schemas.api.playlists import Playlist
from schemas.api.tracks import Track
from schemas.ids import Cid
from schemas.pictures import LARGEST, fit_picture, picture_of

SITE_NAME = "fmsvc"
TRACK_SIZE = (400, 165)
LIST_SIZE = (400, 380)
IMAGE_TYPE = "image/webp"

Meta = tuple[tuple[str, str], ...]
Size = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Image:
    """The picture of a page: its absolute URL, and its size in pixels if it is known."""

    url: str
    size: Size | None = None


@dataclass(frozen=True, slots=True)
class Metadata:
    """The head of one page: `properties` are OpenGraph's, `names` Twitter's, `player` what oEmbed embeds.

    `feed`: the address of the page's feed, without its form.
    """

    title: str
    description: str
    address: str
    properties: Meta
    names: Meta
    json_ld: json_ld.JsonLd
    player: str | None = None
    record_uri: str | None = None
    indexed: bool = True
    feed: str | None = None


def of_track(track: Track, sound: PlayerTrack, addresses: Addresses, size: Size | None = None) -> Metadata:
    """The head of a track's page. `size`: of its own picture, if it is known."""
    # Sites that may embed a player must not see private tracks.
    address = addresses.track(track.uri)
    player = None if track.visibility == "private" else addresses.track_player(track.uri)
    description = track.description or f"A track by {track.artist}"
    properties: list[tuple[str, str]] = [("music:musician", sound.artist_page)]
    if sound.seconds:
        properties.append(("music:duration", str(sound.seconds)))
    if album := addresses.album_of(track):
        properties.append(("music:album", album))
    if sound.source:
        properties.append(("og:audio", sound.source))
        if sound.media_type:
            properties.append(("og:audio:type", sound.media_type))
    image = _cover(sound.picture, track.image_url, size, addresses)
    return Metadata(
        title=text.one_line(f"{track.title} by {track.artist}"),
        description=text.one_line(description),
        address=address,
        properties=(
            *_open_graph("music.song", track.title, description, address, image),
            *properties,
        ),
        names=_twitter(track.title, description, image, player, TRACK_SIZE),
        json_ld=json_ld.of_track(track, sound, _url(image), addresses),
        player=player,
        record_uri=track.uri,
        indexed=track.visibility == "public",
    )


def of_album(
    album: AlbumMetadata, sounds: Sequence[PlayerTrack], addresses: Addresses, size: Size | None = None
) -> Metadata:
    """The head of an album's page. `size`: of its own picture, if it is known."""
    place = (album.artist_handle, album.artist_did, album.slug)
    address, player = addresses.album(*place), addresses.album_player(*place)
    artist_page = addresses.artist(album.artist_handle, album.artist_did)
    count = text.format_count(len(sounds), "track")
    description = album.description or f"An album by {album.artist}, {count}"
    image = _cover(choose_cover(album.image_url, sounds), album.image_url, size, addresses)
    return Metadata(
        title=text.one_line(f"{album.title} by {album.artist}"),
        description=text.one_line(description),
        address=address,
        properties=(
            *_open_graph("music.album", album.title, description, address, image),
            ("music:musician", artist_page),
            *_songs(sounds),
        ),
        names=_twitter(album.title, description, image, player, LIST_SIZE),
        json_ld=json_ld.of_album(album, address, artist_page, _url(image), sounds),
        player=player,
        record_uri=album.uri,
        feed=addresses.page(album_feed(*place)),
    )


def of_playlist(
    playlist: Playlist, sounds: Sequence[PlayerTrack], addresses: Addresses, size: Size | None = None
) -> Metadata:
    """The head of a playlist's page. `size`: of its own picture, if it is known."""
    address, player = addresses.playlist(playlist.id), addresses.playlist_player(playlist.id)
    owner = playlist.owner_display_name or playlist.owner_handle
    description = f"A playlist by {owner}, {text.format_count(len(sounds), 'track')}"
    owner_page = addresses.artist(playlist.owner_handle, playlist.owner_did)
    image = _cover(choose_cover(playlist.image_url, sounds), playlist.image_url, size, addresses)
    return Metadata(
        title=text.one_line(f"{playlist.name} by {owner}"),
        description=text.one_line(description),
        address=address,
        properties=(
            *_open_graph("music.playlist", playlist.name, description, address, image),
            ("music:creator", owner_page),
            *_songs(sounds),
        ),
        names=_twitter(playlist.name, description, image, player, LIST_SIZE),
        json_ld=json_ld.of_playlist(playlist.name, address, owner, owner_page, _url(image), sounds),
        player=player,
        record_uri=playlist.atproto_record_uri,
        feed=addresses.page(playlist_feed(playlist.id)),
    )


def of_artist(artist: Artist, sounds: Sequence[PlayerTrack], addresses: Addresses) -> Metadata:
    """The head of an artist's page. `sounds`: the newest tracks."""
    address = addresses.artist(artist.handle, artist.did)
    player = addresses.artist_player(artist.handle, artist.did)
    name = artist.display_name or artist.handle
    description = artist.bio or f"Music by {name}"
    image = _cover(picture_of(artist.avatar_url), None, None, addresses)
    return Metadata(
        title=text.one_line(name),
        description=text.one_line(description),
        address=address,
        properties=(
            *_open_graph("profile", name, description, address, image),
            ("profile:username", artist.handle),
        ),
        names=_twitter(name, description, image, player, LIST_SIZE),
        json_ld=json_ld.of_artist(artist, name, address, _url(image), sounds),
        player=player,
        feed=addresses.page(artist_feed(artist.handle, artist.did)),
    )


def of_home(title: str, description: str, addresses: Addresses) -> Metadata:
    """The head of the home page."""
    home = addresses.page("/")
    site = json_ld.of_site(SITE_NAME, description, home, addresses.page("/search"))
    return dataclasses.replace(of_page(title, description, home), json_ld=site)


def of_page(
    title: str, description: str, address: str, *, indexed: bool = True, feed: str | None = None
) -> Metadata:
    """The head of a page that is about no record, such as a list of all tracks."""
    return Metadata(
        title=text.one_line(title),
        description=text.one_line(description),
        address=address,
        properties=_open_graph("website", title, description, address, None),
        names=_twitter(title, description, None),
        json_ld=json_ld.of_page(title, description, address),
        indexed=indexed,
        feed=feed,
    )


def choose_cover(own: str | None, sounds: Sequence[PlayerTrack]) -> Cid | None:
    """A list's own picture, by its URL, otherwise that of its first track with one."""
    return picture_of(own) or next((sound.picture for sound in sounds if sound.picture), None)


def _cover(cid: Cid | None, own: str | None, size: Size | None, addresses: Addresses) -> Image | None:
    """The picture of a page. `size`: of the record's own one, whose URL is `own`."""
    if cid is None:
        return None
    told = fit_picture(size, LARGEST) if size is not None and cid == picture_of(own) else None
    return Image(addresses.picture(cid, LARGEST), told)


def _url(image: Image | None) -> str | None:
    return None if image is None else image.url


def _open_graph(kind: str, title: str, description: str, address: str, image: Image | None) -> Meta:
    told = [
        ("og:type", kind),
        ("og:site_name", SITE_NAME),
        ("og:title", text.one_line(title)),
        ("og:description", text.one_line(description)),
        ("og:url", address),
    ]
    if image:
        told += [("og:image", image.url), ("og:image:type", IMAGE_TYPE)]
        told.append(("og:image:alt", text.one_line(f"Cover of {title}")))
        if image.size is not None:
            told += [("og:image:width", str(image.size[0])), ("og:image:height", str(image.size[1]))]
    return tuple(told)


def _twitter(
    title: str,
    description: str,
    image: Image | None,
    player: str | None = None,
    size: tuple[int, int] = TRACK_SIZE,
) -> Meta:
    told = [
        ("twitter:card", "player" if player else "summary"),
        ("twitter:title", text.one_line(title)),
        ("twitter:description", text.one_line(description)),
    ]
    if image:
        told.append(("twitter:image", image.url))
    if player:
        width, height = size
        told += [
            ("twitter:player", player),
            ("twitter:player:width", str(width)),
            ("twitter:player:height", str(height)),
        ]
    return tuple(told)


def _songs(sounds: Sequence[PlayerTrack]) -> Meta:
    return tuple(("music:song", sound.page) for sound in sounds[: json_ld.MOST_SONGS])
