"""What can be embedded: a track, album or playlist with the sizes of its player and its picture."""

from typing import Any

import orjson

from readapi import present
from readapi.errors import NotFound
from readapi.pages.addresses import Addresses, AlbumPage, PlaylistPage, RecordPage, TrackPage
from readapi.pages.metadata import LIST_SIZE, TRACK_SIZE
from readapi.pages.oembed import Embeddable
from readapi.queries import lists, tracks
from readapi.search import Index
from schemas.stored import Card


def find(index: Index, addresses: Addresses, url: str) -> Embeddable:
    """What an address means, if it is one of ours and a stranger may see it. Raises NotFound."""
    match addresses.read(url):
        case TrackPage(name):
            return _track(index, tracks.find(index, name, None), addresses)
        case AlbumPage(owner, slug):
            return _album(lists.album(index, owner, slug), addresses)
        case PlaylistPage(name):
            return _playlist(lists.find(index, "playlist", name), addresses)
        case RecordPage(uri):
            return _record(index, uri, addresses)
        case None:
            raise NotFound("This is no address of a track, an album or a playlist here.")


def _record(index: Index, uri: str, addresses: Addresses) -> Embeddable:
    """Whatever the record is. A list is an album or a playlist, never both."""
    try:
        return _track(index, tracks.find(index, uri, None), addresses)
    except NotFound:
        album = index.find_list("album", uri)
    return _album(album, addresses) if album else _playlist(lists.find(index, "playlist", uri), addresses)


def _track(index: Index, card: Card, addresses: Addresses) -> Embeddable:
    track: Any = orjson.loads(present.together(present.track(card, None, ())))
    return Embeddable(
        track["title"],
        track["artist"],
        addresses.artist(track["artist_handle"], track["artist_did"]),
        addresses.track_player(track["uri"]),
        *TRACK_SIZE,
        *_thumbnail(index, card, track),
    )


def _thumbnail(index: Index, card: Card, track: Any) -> tuple[str | None, tuple[int, int] | None]:
    """The track's picture, else its album's, with its size, which oEmbed asks for: an artist's has none."""
    if track["image_url"] or not track["album"]:
        return track["image_url"], card.thumb
    album = index.find_list("album", track["album"]["id"])
    return track["album"]["image_url"], None if album is None else album.thumb


def _album(card: Card, addresses: Addresses) -> Embeddable:
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
