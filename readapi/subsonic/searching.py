"""Methods that search. An empty query lists everything, by which players copy the catalogue."""

from typing import Annotated, Any, NamedTuple

import orjson
from pydantic import AfterValidator

from readapi.http.viewer import SignedIn
from readapi.index.lookups import Index
from readapi.index.queries import offsets, tracks
from readapi.index.search.execute import Search, execute_search
from readapi.subsonic import browsing, items
from readapi.subsonic.browsing import Offset, Size
from readapi.subsonic.items import Item
from readapi.subsonic.rendering import Content
from readapi.subsonic.songs import Songs
from schemas.access import Viewer
from schemas.search_index import Kind
from schemas.stored import Card

MOST_FOUND = 200  # of a kind, on all pages of a search for words
_LONGEST = 100


def _bare(query: str) -> str:
    """A query without what some players put around it: quotation marks, and a star at the end."""
    return query.strip().strip('"').removesuffix("*").strip()[:_LONGEST]


Words = Annotated[str, AfterValidator(_bare)]


class Wanted(NamedTuple):
    """Which part of the results of a kind."""

    size: int
    offset: int


class Results(NamedTuple):
    """What was found."""

    artists: list[Item]
    albums: list[Item]
    songs: list[Card]


async def search3(
    query: Words,
    index: Index,
    songs: Songs,
    who: SignedIn,
    artist_count: Size = 20,
    artist_offset: Offset = 0,
    album_count: Size = 20,
    album_offset: Offset = 0,
    song_count: Size = 20,
    song_offset: Offset = 0,
) -> Content:
    """Artists, albums and songs by the words in their names; everything without words."""
    wanted = (
        Wanted(artist_count, artist_offset),
        Wanted(album_count, album_offset),
        Wanted(song_count, song_offset),
    )
    found = _find(index, query, who.viewer, *wanted)
    described = await songs.describe(found.songs, who.viewer)
    return {"searchResult3": {"artist": found.artists, "album": found.albums, "song": described}}


def _find(
    index: Index, words: str, viewer: Viewer, artists: Wanted, albums: Wanted, songs: Wanted
) -> Results:
    if not words:
        return _list_all(index, viewer, artists, albums, songs)
    parts: dict[Kind, Wanted] = {"artist": artists, "album": albums, "track": songs}
    most = min(max((part.offset + part.size for part in parts.values() if part.size), default=0), MOST_FOUND)
    hits: dict[str, list[Any]] = {kind: [] for kind in parts}
    kinds = [kind for kind, part in parts.items() if part.size]
    for hit in execute_search(index, Search(words, kinds), None, most).results if most else ():
        known = orjson.loads(hit)
        hits[known["type"]].append(known)
    page = {kind: hits[kind][part.offset : part.offset + part.size] for kind, part in parts.items()}
    held = browsing.load_albums(index, [hit["id"] for hit in page["album"]])
    cards = index.tracks_by_id([hit["id"] for hit in page["track"]])
    return Results(
        [_artist(index, hit) for hit in page["artist"]],
        list(map(items.describe_album, held)),
        tracks.filter_visible(cards, viewer, "search"),
    )


def _list_all(index: Index, viewer: Viewer, artists: Wanted, albums: Wanted, songs: Wanted) -> Results:
    named = map(offsets.read_hit, offsets.popular_hits(index, "artist", artists.offset, artists.size))
    shown = index.visible("album", "discovery", None), index.visible("track", "discovery", viewer)
    held, cards = (
        offsets.list_from(index, query, "recent", part.offset, part.size)
        for query, part in zip(shown, (albums, songs), strict=True)
    )
    return Results([_artist(index, hit) for hit in named], list(map(items.describe_album, held)), cards)


def _artist(index: Index, hit: dict[str, Any]) -> Item:
    return {**items.describe_artist(hit), "albumCount": browsing.count_albums(index, hit["did"])}
