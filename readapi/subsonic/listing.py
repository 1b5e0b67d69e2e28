"""Methods that list albums and songs: newest, random, of a tag, liked, popular, alike."""

from typing import Annotated, Literal

import orjson
from pydantic import Field

from readapi.http.viewer import SignedIn
from readapi.index.folder import match_all
from readapi.index.lookups import Index
from readapi.index.queries import library, offsets, recommendations
from readapi.index.search.execute import Search, execute_search
from readapi.subsonic import browsing, items
from readapi.subsonic.browsing import MOST, Offset, Size
from readapi.subsonic.items import Item
from readapi.subsonic.rendering import Content
from readapi.subsonic.songs import Songs
from schemas.ids import normalise_tag
from schemas.stored import Card

AlbumOrder = Literal[
    "random",
    "newest",
    "highest",
    "frequent",
    "recent",
    "alphabeticalByName",
    "alphabeticalByArtist",
    "starred",
    "byYear",
    "byGenre",
]
Year = Annotated[int, Field(ge=0, le=9999)]
_FIRST_YEAR, _LAST_YEAR = 1970, 2038


def get_album_list2(
    type: AlbumOrder,
    index: Index,
    size: Size = 10,
    offset: Offset = 0,
    from_year: Year = 0,
    to_year: Year = 0,
) -> Content:
    """Albums in an order. Without sales, ratings or likes of albums, some of the orders have none."""
    return {"albumList2": {"album": _albums(type, index, size, offset, from_year, to_year)}}


async def get_random_songs(
    index: Index,
    songs: Songs,
    who: SignedIn,
    size: Size = 10,
    genre: str | None = None,
    from_year: Year = _FIRST_YEAR,
    to_year: Year = _LAST_YEAR,
) -> Content:
    """Songs of all artists, of a tag or some years, in no order."""
    wanted = [index.visible("track", "discovery", None)]
    if genre is not None:
        wanted.append(index.catalog.term("tag", normalise_tag(genre)))
    if (from_year, to_year) != (_FIRST_YEAR, _LAST_YEAR):
        wanted.append(offsets.of_years(index, from_year, to_year))
    found = offsets.sample_cards(index, "track", match_all(*wanted), size)
    return {"randomSongs": {"song": await songs.describe(found, who.viewer)}}


async def get_songs_by_genre(
    genre: str, index: Index, songs: Songs, who: SignedIn, count: Size = 10, offset: Offset = 0
) -> Content:
    """The newest songs with a tag."""
    tagged = index.catalog.term("tag", normalise_tag(genre))
    query = match_all(index.visible("track", "discovery", who.viewer), tagged)
    found = offsets.list_from(index, query, "recent", offset, count)
    return {"songsByGenre": {"song": await songs.describe(found, who.viewer)}}


async def get_starred2(index: Index, songs: Songs, who: SignedIn) -> Content:
    """The songs that the account likes, the last liked first. Artists and albums cannot be liked."""
    liked = library.liked_tracks(index, who.viewer, "", "recent", None, MOST).page.items
    return {"starred2": {"artist": [], "album": [], "song": await songs.describe(liked, who.viewer)}}


async def get_top_songs(
    artist: Annotated[str, Field(max_length=100)], index: Index, songs: Songs, who: SignedIn, count: Size = 50
) -> Content:
    """The most popular songs of the artist with a name or a handle."""
    did = _find_by_name(index, artist)
    found: list[Card] = []
    if did is not None:
        page = index.track_page("profile", "popular", None, count, artist_did=did, viewer=who.viewer)
        found = page.items
    return {"topSongs": {"song": await songs.describe(found, who.viewer)}}


async def get_similar_songs2(id: str, index: Index, songs: Songs, who: SignedIn, count: Size = 50) -> Content:
    """Songs that go with a song, an album or an artist."""
    held = await browsing.load_songs(index, id, who.viewer)
    found = recommendations.recommend_tracks(index, held, who.viewer, count) if held and count else []
    return {"similarSongs2": {"song": await songs.describe(found, who.viewer)}}


def _albums(
    order: AlbumOrder, index: Index, size: int, offset: int, from_year: int, to_year: int
) -> list[Item]:
    shown = index.visible("album", "discovery", None)
    match order:
        case "random":
            found = offsets.sample_cards(index, "album", shown, size)
        case "newest" | "alphabeticalByName" | "alphabeticalByArtist":
            found = offsets.list_from(index, shown, "recent", offset, size)
        case "byYear":
            years = offsets.of_years(index, *sorted((from_year, to_year)))
            rising = from_year <= to_year
            found = offsets.list_from(index, match_all(shown, years), "recent", offset, size, rising=rising)
        case "frequent":
            hits = map(offsets.read_hit, offsets.popular_hits(index, "album", offset, size))
            found = browsing.load_albums(index, [hit["id"] for hit in hits])
        case "highest" | "recent" | "starred" | "byGenre":
            found = []
    return list(map(items.describe_album, found))


def _find_by_name(index: Index, name: str) -> str | None:
    """The account whose name or handle is this; the most relevant of several; None where there is none."""
    wanted = name.casefold()
    for hit in execute_search(index, Search(name, ["artist"]), None, 10).results:
        known = orjson.loads(hit)
        if wanted in (str(known[part]).casefold() for part in ("display_name", "handle")):
            return str(known["did"])
    return None
