"""Search results: one flat list, in which each result states its type."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.api.shape import Address, Count, DidText, Page, PublicId, Shape, Uuid


class TrackResult(Shape):
    """A track. `highlight` is the title with the matching words marked."""

    type: Literal["track"]
    id: PublicId
    title: str
    artist_handle: str
    artist_display_name: str
    image_url: Address | None
    relevance: float
    highlight: str | None = None


class ArtistResult(Shape):
    """An artist."""

    type: Literal["artist"]
    did: DidText
    handle: str
    display_name: str
    avatar_url: Address | None
    relevance: float


class AlbumResult(Shape):
    """An album."""

    type: Literal["album"]
    id: Uuid
    title: str
    slug: str
    artist_handle: str
    artist_display_name: str
    image_url: Address | None
    relevance: float


class PlaylistResult(Shape):
    """A playlist."""

    type: Literal["playlist"]
    id: Uuid
    name: str
    owner_handle: str
    owner_display_name: str
    image_url: Address | None
    track_count: Count
    relevance: float


class TagResult(Shape):
    """A tag."""

    type: Literal["tag"]
    id: PublicId
    name: str
    track_count: Count
    relevance: float


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
