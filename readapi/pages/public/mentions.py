"""What editors can mention, as `parts.page.mention.search` answers: an entity, its page, and its player."""

from typing import Any, Final

import orjson

from readapi.index.lookups import Index
from readapi.index.queries import tracks
from readapi.pages.urls import Addresses
from schemas.stored import Card

WIDTH: Final = 600
TRACK_HEIGHT: Final = 160
LIST_HEIGHT: Final = 400


class Mentions:
    """Search results as mentions."""

    def __init__(self, index: Index, addresses: Addresses) -> None:
        self._index = index
        self._addresses = addresses

    def describe(self, result: dict[str, Any]) -> dict[str, Any] | None:
        """A search result as a mention; None where it is gone by now."""
        kind = result["type"]
        if kind == "tag":
            href = self._addresses.tag(result["name"])
            return _mention(kind, href, href, result["name"], f"{result['track_count']} tracks")
        if kind == "artist":
            return self._artist(result)
        if kind == "track":
            found = self._index.track(result["id"])
            return None if found is None else self._track(result, found)
        found = self._index.find_list(kind, result["id"])
        return None if found is None else self._list(kind, result, found)

    def _artist(self, result: dict[str, Any]) -> dict[str, Any]:
        did, handle = result["did"], result["handle"]
        href = self._addresses.artist(handle, did)
        mention = _mention("artist", f"at://{did}", href, result["display_name"], f"@{handle}")
        return {
            **mention,
            **_icon(result["avatar_url"]),
            "subscope": {"scope": did, "label": f"Tracks of {result['display_name']}"[:100]},
        }

    def _track(self, result: dict[str, Any], found: Card) -> dict[str, Any]:
        uri = str(tracks.track_uri(found))
        href, player = self._addresses.track(uri), self._addresses.track_player(uri)
        mention = _mention("track", uri, href, result["title"], f"by {result['artist_display_name']}")
        return {**mention, **_icon(result["image_url"]), "embed": _embed(player, TRACK_HEIGHT)}

    def _list(self, kind: str, result: dict[str, Any], found: Card) -> dict[str, Any]:
        uri = orjson.loads(found.card)["uri"]
        if kind == "album":
            of = result["artist_handle"], found.did, result["slug"]
            href, player = self._addresses.album(*of), self._addresses.album_player(*of)
            name, by = result["title"], result["artist_display_name"]
        else:
            href, player = (
                self._addresses.playlist(result["id"]),
                self._addresses.playlist_player(result["id"]),
            )
            name, by = result["name"], result["owner_display_name"]
        mention = _mention(kind, uri, href, name, f"by {by}")
        return {**mention, **_icon(result["image_url"]), "embed": _embed(player, LIST_HEIGHT)}


def _mention(kind: str, uri: str, href: str, name: str, description: str) -> dict[str, Any]:
    return {"uri": uri, "name": name, "description": description, "labels": [{"text": kind}], "href": href}


def _icon(address: str | None) -> dict[str, str]:
    return {} if address is None else {"icon": address}


def _embed(player: str, height: int) -> dict[str, Any]:
    return {"src": player, "width": WIDTH, "height": height}
