"""Pictures of songs, albums, artists and playlists: found by id, and sent in one of this service's sizes."""

from typing import Final

import orjson
from aiohttp import web

from readapi.audio.sending import Sending
from readapi.errors import NotFound
from readapi.http.request.headers import Conditions
from readapi.http.response import headers
from readapi.index.lookups import Index
from readapi.index.queries import artists, lists, tracks
from readapi.pictures.cache import Pictures
from readapi.pictures.visible import find_visible
from readapi.subsonic import ids
from schemas.access import Viewer
from schemas.ids import Cid
from schemas.pictures import LARGEST, SIDES, Side, picture_of
from schemas.stored import Card

_NO_PICTURE: Final = "There is no picture."


class Covers:
    """Sends the pictures that the viewer may see."""

    def __init__(self, index: Index, pictures: Pictures) -> None:
        self._index = index
        self._pictures = pictures

    async def send(self, id: str, size: int, viewer: Viewer, asked: Conditions) -> web.StreamResponse:
        """The picture of something, in the smallest size of at least `size` pixels. Raises NotFound."""
        cid = find_picture(self._index, id, viewer)
        source, _ = await find_visible(
            self._index, self._pictures, cid, fitting_side(size), viewer, viewer.did
        )
        return Sending(source, asked, headers.picture_headers(is_public=False))


def fitting_side(size: int) -> Side:
    """The smallest of this service's sizes that is at least `size`, or else the largest."""
    return next((side for side in SIDES if side >= size), LARGEST)


def find_picture(index: Index, id: str, viewer: Viewer) -> Cid:
    """The CID of something's picture; a song's may be its album's or artist's. Raises NotFound."""
    for url in _addresses(index, id, viewer):
        if cid := picture_of(url):
            return cid
    raise NotFound(_NO_PICTURE)


def _addresses(index: Index, id: str, viewer: Viewer) -> list[str | None]:
    kind, name = ids.read_id(id)
    match kind:
        case "tr":
            return _of_tracks([tracks.find_track(index, name, viewer)])
        case "al":
            album = lists.find_list(index, "album", name)
            return [_of_list(album), *_of_tracks(lists.album_tracks(index, album, viewer)[:1])]
        case "pl":
            playlist = lists.find_list(index, "playlist", name)
            return [_of_list(playlist), *_of_tracks(lists.playlist_tracks(index, playlist, viewer)[:1])]
        case "ar" | "si":
            return [orjson.loads(artists.find_artist(index, name).card)["avatar_url"]]


def _of_list(card: Card) -> str | None:
    url: str | None = orjson.loads(card.card)["image_url"]
    return url


def _of_tracks(cards: list[Card]) -> list[str | None]:
    found: list[str | None] = []
    for card in cards:
        known = tracks.parse_card(card)
        album = known["album"]
        found += [known["image_url"], album["image_url"] if album else None, known["artist_avatar_url"]]
    return found
