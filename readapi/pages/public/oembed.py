"""Finds a track, album, playlist or artist by URL and describes its player as oEmbed (https://oembed.com)."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import orjson

from readapi.errors import NotFound
from readapi.index.lookups import Index
from readapi.index.queries import artists, lists, tracks
from readapi.pages import text
from readapi.pages.public import player as player_page
from readapi.pages.public.metadata import LIST_SIZE, SITE_NAME, TRACK_SIZE
from readapi.pages.urls import Addresses, AlbumAddress, ArtistAddress, PlaylistPage, RecordPage, TrackAddress
from schemas.pictures import SIDES, Side, fit_picture, picture_of
from schemas.stored import Card

CACHE_SECONDS = 3600


class Embeddable(NamedTuple):
    """A record with a player. `image_size` is the picture's actual size, if it is known."""

    title: str
    author: str
    author_page: str
    player: str
    width: int
    height: int
    image_url: str | None = None
    image_size: tuple[int, int] | None = None


class Box(NamedTuple):
    """The consumer's maximum size for a player or a thumbnail; None: no limit."""

    width: int | None = None
    height: int | None = None

    def shrunk(self, width: int, height: int) -> tuple[int, int]:
        """A player's size, reduced to the limits."""
        return min(width, self.width or width), min(height, self.height or height)

    def thumbnail(self, size: tuple[int, int]) -> tuple[Side, tuple[int, int]] | None:
        """The largest of our sizes in which a picture of this original size fits, and its width and height.

        None: none does.
        """
        for side in reversed(SIDES):
            fitted = fit_picture(size, side)
            if self.shrunk(*fitted) == fitted:
                return side, fitted
        return None


def describe_embed(shown: Embeddable, box: Box, addresses: Addresses) -> dict[str, str | int]:
    """The members of `schemas.api.oembed.OEmbed`. Those of the thumbnail are all there or all absent."""
    width, height = box.shrunk(shown.width, shown.height)
    return {
        "version": "1.0",
        "type": "rich",
        "provider_name": SITE_NAME,
        "provider_url": addresses.base_url,
        "title": text.one_line(shown.title),
        "author_name": text.one_line(shown.author),
        "author_url": shown.author_page,
        "width": width,
        "height": height,
        "html": player_page.iframe_html(shown.player, _frame_title(shown), width, height),
        "cache_age": CACHE_SECONDS,
        **_thumbnail_members(shown, box, addresses),
    }


def _frame_title(shown: Embeddable) -> str:
    return shown.title if shown.title == shown.author else f"{shown.title} by {shown.author}"


def _thumbnail_members(shown: Embeddable, box: Box, addresses: Addresses) -> dict[str, str | int]:
    cid = picture_of(shown.image_url)
    thumbnail = box.thumbnail(shown.image_size) if shown.image_size else None
    if cid is None or thumbnail is None:
        return {}
    side, (width, height) = thumbnail
    return {
        "thumbnail_url": addresses.picture(cid, side),
        "thumbnail_width": width,
        "thumbnail_height": height,
    }


def render_xml(members: Mapping[str, str | int]) -> bytes:
    """The document as XML."""
    told = "".join(f"<{name}>{escape(str(value))}</{name}>" for name, value in members.items())
    return f'<?xml version="1.0" encoding="utf-8" standalone="yes"?>\n<oembed>{told}</oembed>\n'.encode()


def find_embeddable(index: Index, addresses: Addresses, url: str) -> Embeddable:
    """The record at a URL of this service, if it is visible without signing in. Raises NotFound."""
    match addresses.read(url):
        case TrackAddress(name):
            return _track(index, tracks.find_embedded_track(index, name, adult=False), addresses)
        case ArtistAddress(name):
            return _artist(artists.find_artist(index, name), addresses)
        case AlbumAddress(owner, slug):
            return _album(lists.find_album(index, owner, slug), addresses)
        case PlaylistPage(name):
            return _playlist(lists.find_list(index, "playlist", name), addresses)
        case RecordPage(uri):
            return _record(index, uri, addresses)
        case None:
            raise NotFound("This URL is not that of a track, an album, a playlist or an artist here.")


def _record(index: Index, uri: str, addresses: Addresses) -> Embeddable:
    """Whatever the record is. A list is an album or a playlist, never both."""
    try:
        return _track(index, tracks.find_embedded_track(index, uri, adult=False), addresses)
    except NotFound:
        album = index.find_list("album", uri)
    return (
        _album(album, addresses) if album else _playlist(lists.find_list(index, "playlist", uri), addresses)
    )


def _track(index: Index, card: Card, addresses: Addresses) -> Embeddable:
    track = tracks.parse_card(card)
    return Embeddable(
        track["title"],
        track["artist"],
        addresses.artist(track["artist_handle"], track["artist_did"]),
        addresses.player_of(card.address.decode()),
        *TRACK_SIZE,
        *_thumbnail(index, card, track),
    )


def _thumbnail(index: Index, card: Card, track: Any) -> tuple[str | None, tuple[int, int] | None]:
    """The track's picture, else its album's, with its size, which oEmbed asks for: an artist's has none."""
    if track["image_url"] or not track["album"]:
        return track["image_url"], card.thumb
    album = index.find_list("album", track["album"]["id"])
    return track["album"]["image_url"], None if album is None else album.thumb


def _artist(card: Card, addresses: Addresses) -> Embeddable:
    tracks.refuse_adult(card, adult=False)
    artist: Any = orjson.loads(card.card)
    whose = artist["handle"], artist["did"]
    name = artist["display_name"] or artist["handle"]
    return Embeddable(name, name, addresses.artist(*whose), addresses.artist_player(*whose), *LIST_SIZE)


def _album(card: Card, addresses: Addresses) -> Embeddable:
    tracks.refuse_adult(card, adult=False)
    album: Any = orjson.loads(card.card)
    whose = album["artist_handle"], album["artist_did"]
    return Embeddable(
        album["title"],
        album["artist"],
        addresses.artist(*whose),
        addresses.album_player(*whose, album["slug"]),
        *LIST_SIZE,
        album["image_url"],
        card.thumb,
    )


def _playlist(card: Card, addresses: Addresses) -> Embeddable:
    tracks.refuse_adult(card, adult=False)
    playlist: Any = orjson.loads(card.card)
    return Embeddable(
        playlist["name"],
        playlist["owner_display_name"] or playlist["owner_handle"],
        addresses.artist(playlist["owner_handle"], playlist["owner_did"]),
        addresses.playlist_player(playlist["id"]),
        *LIST_SIZE,
        playlist["image_url"],
        card.thumb,
    )
