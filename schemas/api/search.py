"""What a search finds: one flat list, each result saying what it is."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.api.shape import Address, Count, DidText, Page, PublicId, Shape, Uuid


class TrackResult(Shape):
    """A track that was found. `highlight` is an excerpt that shows why."""

    type: Literal["track"]
    id: PublicId
    title: str
    artist_handle: str
    artist_display_name: str
    image_url: Address | None
    relevance: float
    highlight: str | None = None


class ArtistResult(Shape):
    """An artist who was found."""

    type: Literal["artist"]
    did: DidText
    handle: str
    display_name: str
    avatar_url: Address | None
    relevance: float


class AlbumResult(Shape):
    """An album that was found."""

    type: Literal["album"]
    id: Uuid
    title: str
    slug: str
    artist_handle: str
    artist_display_name: str
    image_url: Address | None
    relevance: float


class PlaylistResult(Shape):
    """A playlist that was found."""

    type: Literal["playlist"]
    id: Uuid
    name: str
    owner_handle: str
    owner_display_name: str
    image_url: Address | None
    track_count: Count
    relevance: float


class TagResult(Shape):
    """A tag that was found."""

    type: Literal["tag"]
    id: PublicId
    name: str
    track_count: Count
    relevance: float


Result = Annotated[
    TrackResult | ArtistResult | AlbumResult | PlaylistResult | TagResult, Field(discriminator="type")
]


class ResultCounts(Shape):
    """How many of each kind match, however many are shown."""

    tracks: Count
    artists: Count
    albums: Count
    playlists: Count
    tags: Count


class SearchPage(Page):
    """Some results, the true totals, and where to go on."""

    results: list[Result]
    counts: ResultCounts
