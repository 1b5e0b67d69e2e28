"""Methods that go from artists to albums to songs, by tags and by folders: both lead through the same."""

import time
from collections.abc import Iterable
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator

from readapi.errors import NotFound
from readapi.http.viewer import SignedIn
from readapi.index.folder import match_all
from readapi.index.lookups import Index
from readapi.index.queries import artists, lists, offsets, tags, tracks
from readapi.index.snapshots.interface import Snapshots
from readapi.pages.text import drop_unprintable, one_line
from readapi.subsonic import ids, items
from readapi.subsonic.items import Item, Owner
from readapi.subsonic.rendering import Content, Element
from readapi.subsonic.songs import Songs
from schemas.access import Viewer
from schemas.stored import Card

MOST = 500  # of anything in one answer
MOST_ARTISTS = 500

Size = Annotated[int, AfterValidator(lambda size: max(0, min(size, MOST)))]
Offset = Annotated[int, AfterValidator(lambda offset: max(0, offset))]


def get_artists(index: Index) -> Content:
    """The most popular artists by their first letters; `search3` finds all."""
    return {"artists": {"ignoredArticles": "", "index": _popular_artists(index, counted=True)}}


def get_indexes(index: Index) -> Content:
    """The same, as folders."""
    shown = {"lastModified": int(time.time() * 1000), "ignoredArticles": ""}
    return {"indexes": {**shown, "index": _popular_artists(index, counted=False)}}


async def get_artist(id: str, index: Index, songs: Songs, who: SignedIn) -> Content:
    """An artist and the albums; tracks that are on none come as one more."""
    card = artists.find_artist(index, ids.read_name(id, ids.ARTIST))
    held = await _albums_of(index, songs, card, who.viewer)
    artist = items.describe_artist(orjson.loads(card.card))
    return {"artist": {**artist, "albumCount": len(held), "album": held}}


async def get_album(id: str, index: Index, songs: Songs, who: SignedIn) -> Content:
    """An album and its songs."""
    album, held = await _album_and_songs(index, songs, id, who.viewer)
    return {"album": {**album, "song": held}}


async def get_song(id: str, index: Index, songs: Songs, who: SignedIn) -> Content:
    """A song."""
    card = tracks.find_track(index, ids.read_name(id, ids.TRACK), who.viewer)
    [song] = await songs.describe([card], who.viewer)
    return {"song": song}


async def get_music_directory(id: str, index: Index, songs: Songs, who: SignedIn) -> Content:
    """The content of a folder: an artist's albums, or an album's songs."""
    if ids.read_id(id).kind == ids.ARTIST:
        card = artists.find_artist(index, ids.read_name(id, ids.ARTIST))
        artist = items.describe_artist(orjson.loads(card.card))
        held = [items.describe_folder(album) for album in await _albums_of(index, songs, card, who.viewer)]
        return {"directory": {"id": artist["id"], "name": artist["name"], "child": held}}
    album, held = await _album_and_songs(index, songs, id, who.viewer)
    named = {"id": album["id"], "parent": album["artistId"], "name": album["name"]}
    return {"directory": {**named, "child": held}}


async def get_genres(catalog: Snapshots) -> Content:
    """The most used tags."""
    found, _ = await tags.count_tags(catalog, "", MOST)
    told = [{"value": one_line(tag.name), "songCount": tag.track_count, "albumCount": 0} for tag in found]
    return {"genres": {"genre": told}}


def get_artist_info2(id: str, index: Index) -> Content:
    """What an artist writes about themselves."""
    artist = orjson.loads(artists.find_artist(index, ids.read_name(id, ids.ARTIST)).card)
    return {"artistInfo2": {"biography": _prose(artist["bio"])}}


def get_album_info(id: str, index: Index) -> Content:
    """What the artist writes about an album."""
    known = ids.read_id(id)
    if known.kind == ids.SINGLES:
        return {"albumInfo": {}}
    album = orjson.loads(lists.find_list(index, "album", ids.read_name(id, ids.ALBUM)).card)
    return {"albumInfo": {"notes": _prose(album["description"])}}


async def load_songs(index: Index, id: str, viewer: Viewer) -> list[Card]:
    """The tracks of a song, an album, a playlist or an artist's newest. Raises NotFound."""
    kind, name = ids.read_id(id)
    match kind:
        case "tr":
            return [tracks.find_track(index, name, viewer)]
        case "al":
            return lists.album_tracks(index, lists.find_list(index, "album", name), viewer)
        case "pl":
            return lists.playlist_tracks(index, lists.find_list(index, "playlist", name), viewer)
        case "ar" | "si":
            did = artists.find_artist(index, name).did
            return index.track_page("profile", "recent", None, MOST, artist_did=did, viewer=viewer).items


def load_albums(index: Index, album_ids: Iterable[str]) -> list[Card]:
    """The albums with these ids, in order; those that are not there left out."""
    found = (index.find_list("album", album_id) for album_id in album_ids)
    return [card for card in found if card is not None]


def count_albums(index: Index, did: str) -> int:
    """How many albums an artist has."""
    mine = index.catalog.term("did", did)
    return index.catalog.count(match_all(index.visible("album", "discovery", None), mine))


def _popular_artists(index: Index, *, counted: bool) -> list[Item]:
    found = []
    for hit in offsets.popular_hits(index, "artist", 0, MOST_ARTISTS):
        known: Any = offsets.read_hit(hit)
        more = {"albumCount": count_albums(index, known["did"])} if counted else {}
        found.append({**items.describe_artist(known), **more})
    return items.group_by_letter(found)


async def _albums_of(index: Index, songs: Songs, artist: Card, viewer: Viewer) -> list[Item]:
    albums = index.list_page("album", None, MOST, artist_did=artist.did).items
    held = [items.describe_album(card) for card in albums]
    singles = await songs.describe(_singles(index, artist.did, viewer), viewer)
    return [*held, items.describe_singles(_owner(artist), singles)] if singles else held


async def _album_and_songs(index: Index, songs: Songs, id: str, viewer: Viewer) -> tuple[Item, list[Item]]:
    kind, name = ids.read_id(id)
    if kind == ids.SINGLES:
        artist = artists.find_artist(index, name)
        held = await songs.describe(_singles(index, artist.did, viewer), viewer)
        if not held:
            raise NotFound("This artist has no tracks that are on no album.")
        return items.describe_singles(_owner(artist), held), held
    card = lists.find_list(index, "album", ids.read_name(id, ids.ALBUM))
    held = await songs.describe(lists.album_tracks(index, card, viewer), viewer, numbered=True)
    album = items.describe_album(card, items.sum_seconds(held))
    return {**album, "songCount": len(held)}, held


def _singles(index: Index, did: str, viewer: Viewer) -> list[Card]:
    page = index.track_page("profile", "recent", None, MOST, artist_did=did, viewer=viewer)
    return [card for card in page.items if tracks.parse_card(card)["album"] is None]


def _owner(artist: Card) -> Owner:
    known = orjson.loads(artist.card)
    return Owner(artist.did, items.describe_artist(known)["name"])


def _prose(text: str | None) -> Element | None:
    return None if text is None else Element(drop_unprintable(text))
