"""Search results: one flat list, in which each result states its type."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.api.shape import Address, Count, DidText, Page, PublicId, Shape, Uuid

ResultTier = Literal[
    "name_with_next_word",
    "whole_name",
    "nearly_whole_name_as_long",
    "nearly_whole_name",
    "name_in_other_number",
    "start_of_name_as_long",
    "same_words_as_name",
    "start_of_name",
    "words_of_title",
    "words_in_title",
    "words_in_names",
    "words_in_text",
    "name_with_typo",
    "title_with_typo",
    "start_of_name_with_typo",
    "start_of_name_run_together",
    "word_with_typo",
    "relaxed",
]


class Explanation(Shape):
    """Why a result is where it is.

    `tier`: the best way in which it matches; better tiers come first, and `relaxed` is the last. `fields`:
    what holds words of the query: title, artist, album, tag, description, or `name` for one of these names if
    the word has a typo. `typos`: in all words together. `popularity`: likes and plays, rounded down to a
    power of two; it orders equally good matches.
    """

    tier: ResultTier
    fields: list[str]
    typos: Count
    popularity: Count


class _Found(Shape):
    relevance: float
    explain: Explanation | None = None


class TrackResult(_Found):
    """A track. `highlight` is the title with the matching words marked."""

    type: Literal["track"]
    id: PublicId
    title: str
    artist_handle: str
    artist_display_name: str
    image_url: Address | None
    highlight: str | None = None


class ArtistResult(_Found):
    """An artist."""

    type: Literal["artist"]
    did: DidText
    handle: str
    display_name: str
    avatar_url: Address | None


class AlbumResult(_Found):
    """An album."""

    type: Literal["album"]
    id: Uuid
    title: str
    slug: str
    artist_handle: str
    artist_display_name: str
    image_url: Address | None


class PlaylistResult(_Found):
    """A playlist."""

    type: Literal["playlist"]
    id: Uuid
    name: str
    owner_handle: str
    owner_display_name: str
    image_url: Address | None
    track_count: Count


class TagResult(_Found):
    """A tag."""

    type: Literal["tag"]
    id: PublicId
    name: str
    track_count: Count


Result = Annotated[
    TrackResult | ArtistResult | AlbumResult | PlaylistResult | TagResult, Field(discriminator="type")
]


class ResultCounts(Shape):
    """The total number of matches of each type, independent of the page size."""

    tracks: Count
    artists: Count
    albums: Count
    playlists: Count
    tags: Count


class SearchPage(Page):
    """A page of results, with the true totals."""

    results: list[Result]
    counts: ResultCounts


class FoundTracks(Page):
    """A page of tracks, with the true totals of every type."""

    results: list[TrackResult]
    counts: ResultCounts


class Suggestion(Shape):
    """A name that a search would find; `by` is its artist's or owner's name, null for artists and tags."""

    type: Literal["track", "artist", "album", "playlist", "tag"]
    name: str
    by: str | None


class Suggestions(Shape):
    """Names, the best first."""

    suggestions: list[Suggestion]
