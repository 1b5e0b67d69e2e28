"""Cards of the index -> songs, albums, artists and playlists as OpenSubsonic describes them. Pure.

https://opensubsonic.netlify.app/docs/responses: `child`, `albumid3`, `artistid3`, `playlist`
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from readapi.index.queries import tracks
from readapi.pages.text import drop_unprintable, one_line
from readapi.subsonic import ids
from readapi.subsonic.ids import ItemId
from schemas.access import Viewer, may_download
from schemas.audio import MIME_TYPES, RENDITION_TYPE
from schemas.stored import Card

Item = dict[str, Any]

SINGLES_TITLE = "Singles"


class Owner(NamedTuple):
    """The artist of an album."""

    did: str
    name: str


def describe_song(card: Card, viewer: Viewer | None, starred: str | None, number: int | None = None) -> Item:
    """A track. `starred`: when the viewer liked it; `number`: its place on the album that is shown."""
    known = tracks.parse_card(card)
    name, artist = str(ItemId(ids.TRACK, card.address.decode())), one_line(known["artist"])
    artist_id, tags = str(ItemId(ids.ARTIST, card.did)), [one_line(tag) for tag in known["tags"]]
    album_id = _album_id(known, card)
    suffix, media_type = _format(known, card, viewer)
    return {
        "id": name,
        "parent": album_id,
        "isDir": False,
        "title": one_line(known["title"]),
        "album": one_line(known["album"]["title"]) if known["album"] else SINGLES_TITLE,
        "artist": artist,
        "track": number,
        "year": _year(known["created_at"]),
        "genre": tags[0] if tags else None,
        "coverArt": name if _has_picture(known) else None,
        "contentType": media_type,
        "suffix": suffix,
        "duration": known["duration"],
        "playCount": known["play_count"],
        "created": known["created_at"],
        "starred": starred,
        "albumId": album_id,
        "artistId": artist_id,
        "type": "music",
        "mediaType": "song",
        "isVideo": False,
        "comment": drop_unprintable(known["description"] or ""),
        "explicitStatus": "explicit" if "explicit" in known["labels"] else "",
        "displayArtist": artist,
        "genres": [{"name": tag} for tag in tags],
        "artists": [{"id": artist_id, "name": artist}, *map(_feature, known["features"])],
    }


def describe_album(card: Card, seconds: int = 0) -> Item:
    """An album. `seconds`: how long it lasts, where its tracks are read."""
    known = orjson.loads(card.card)
    return {
        "id": str(ItemId(ids.ALBUM, known["id"])),
        "name": one_line(known["title"]),
        "artist": one_line(known["artist"]),
        "artistId": str(ItemId(ids.ARTIST, known["artist_did"])),
        "coverArt": str(ItemId(ids.ALBUM, known["id"])),
        "songCount": known["track_count"],
        "duration": seconds,
        "playCount": known["total_plays"],
        "created": known["created_at"],
        "year": _year(known["created_at"]),
    }


def describe_singles(owner: Owner, songs: Iterable[Item]) -> Item:
    """An artist's tracks that are on no album, as if they were on one."""
    held = list(songs)
    return {
        "id": str(ItemId(ids.SINGLES, owner.did)),
        "name": SINGLES_TITLE,
        "artist": owner.name,
        "artistId": str(ItemId(ids.ARTIST, owner.did)),
        "coverArt": str(ItemId(ids.ARTIST, owner.did)),
        "songCount": len(held),
        "duration": sum_seconds(held),
        "created": max((song["created"] for song in held), default=None),
    }


def describe_folder(album: Item) -> Item:
    """An album as the older methods show it: a folder within its artist's."""
    shared = ("id", "artist", "coverArt", "playCount", "created", "year", "artistId")
    held = {name: album[name] for name in shared if name in album}
    return {
        **held,
        "parent": album["artistId"],
        "isDir": True,
        "title": album["name"],
        "album": album["name"],
    }


def describe_artist(known: Mapping[str, Any]) -> Item:
    """An account, from its card or from a search result."""
    name = str(ItemId(ids.ARTIST, known["did"]))
    return {
        "id": name,
        "name": one_line(known["display_name"] or known["handle"]),
        "coverArt": name if known["avatar_url"] else None,
    }


def describe_playlist(known: Mapping[str, Any], seconds: int = 0) -> Item:
    """A playlist, from its card. `seconds`: as for albums."""
    name = str(ItemId(ids.PLAYLIST, known["id"]))
    return {
        "id": name,
        "name": one_line(known["name"]),
        "owner": known["owner_handle"],
        "public": known["show_on_profile"],
        "songCount": known["track_count"],
        "duration": seconds,
        "created": known["created_at"],
        "changed": known["created_at"],
        "coverArt": name,
    }


def sum_seconds(songs: Iterable[Item]) -> int:
    """How long these songs last, as far as that is known."""
    return sum(song["duration"] or 0 for song in songs)


def group_by_letter(artists: Iterable[Item]) -> list[Item]:
    """Artists by the first letter of their names; all other beginnings under `#`."""
    found: dict[str, list[Item]] = {}
    for artist in sorted(artists, key=lambda one: one["name"].casefold()):
        first = artist["name"][:1].upper()
        found.setdefault(first if first.isalpha() else "#", []).append(artist)
    return [{"name": letter, "artist": held} for letter, held in sorted(found.items())]


def _album_id(known: Mapping[str, Any], card: Card) -> str:
    album = known["album"]
    return str(ItemId(ids.ALBUM, album["id"]) if album else ItemId(ids.SINGLES, card.did))


def _format(known: Mapping[str, Any], card: Card, viewer: Viewer | None) -> tuple[str, str | None]:
    """The file type and media type of what the viewer streams: the original, or the rendition."""
    is_rendition = known["audio_storage"] == "managed" and not may_download(card.access, viewer)
    suffix = RENDITION_TYPE if is_rendition else known["file_type"]
    return suffix, MIME_TYPES.get(suffix)


def _has_picture(known: Mapping[str, Any]) -> bool:
    album = known["album"]
    return bool(known["image_url"] or (album and album["image_url"]) or known["artist_avatar_url"])


def _feature(person: Mapping[str, Any]) -> Item:
    return {"id": str(ItemId(ids.ARTIST, person["did"])), "name": one_line(person["display_name"])}


def _year(created_at: str) -> int:
    return int(created_at[:4])
