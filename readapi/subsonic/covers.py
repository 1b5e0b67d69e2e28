"""Pictures of songs, albums, artists and playlists: found by id, fetched, and passed on as bytes."""

from typing import Any, Final

import orjson

from readapi.answers import Answer
from readapi.errors import NotFound, PdsUnavailable
from readapi.http.response.headers import PRIVATE
from readapi.index.lookups import Index
from readapi.index.queries import artists, lists, tracks
from readapi.oauth.errors import Unavailable
from readapi.oauth.network import Network
from readapi.oauth.throttle import KeyedSlots
from readapi.pages.text import is_web_address
from readapi.pds.records.images import media_type
from readapi.subsonic import ids
from schemas.access import Viewer
from schemas.bounds import MAX_IMAGE_BYTES
from schemas.stored import Card

_OF_ONE_ACCOUNT: Final = 4  # pictures that are fetched at once
_PATIENCE_SECONDS: Final = 20.0
_TIMEOUT_SECONDS: Final = 10.0
_KEPT = "private, max-age=86400"
_NO_PICTURE = "There is no picture."


class Covers:
    """Fetches pictures from the servers of artists, a few at a time for each account."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._turns = KeyedSlots(_OF_ONE_ACCOUNT, _PATIENCE_SECONDS)

    async def fetch(self, url: str, client: str) -> Answer[Any]:
        """The picture at an address in a record. Raises NotFound and PdsUnavailable.

        Whatever the server says of its type, only pictures that browsers show are passed on.
        """
        try:
            turn = await self._turns.take(client)
        except Unavailable as error:
            raise PdsUnavailable(
                "You already have several requests for pictures; try again later."
            ) from error
        try:
            response = await self._network.send(
                "GET",
                url,
                headers={"Accept": "image/*"},
                max_bytes=MAX_IMAGE_BYTES,
                timeout_seconds=_TIMEOUT_SECONDS,
            )
        except Unavailable as error:
            raise PdsUnavailable("The server that has this picture cannot be reached.") from error
        finally:
            turn.end()
        kind = media_type(response.body)
        if response.status != 200 or kind is None:
            raise NotFound(_NO_PICTURE)
        headers = {"Cache-Control": _KEPT, "Vary": ", ".join(PRIVATE.varies)}
        return Answer(response.body, kind, headers=headers)


def find_picture(index: Index, id: str, viewer: Viewer) -> str:
    """The address of something's picture; a song's may be its album's or artist's. Raises NotFound."""
    for url in _addresses(index, id, viewer):
        if is_web_address(url):
            return str(url)
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
