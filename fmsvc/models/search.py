"""Search results, tags and totals."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field


class SearchExplanation(BaseModel):
    """Why a result is where it is: asked for with `explain`."""

    tier: str
    fields: list[str]
    typos: int
    popularity: int


class TrackSearchResult(BaseModel):
    """A track that was found."""

    type: Literal["track"] = "track"
    id: int
    title: str
    artist_handle: str
    artist_display_name: str
    image_url: str | None = None
    relevance: float
    explain: SearchExplanation | None = None
    highlight: str | None = None


class ArtistSearchResult(BaseModel):
    """An artist who was found."""

    type: Literal["artist"] = "artist"
    did: str
    handle: str
    display_name: str
    avatar_url: str | None = None
    relevance: float
    explain: SearchExplanation | None = None


class AlbumSearchResult(BaseModel):
    """An album that was found."""

    type: Literal["album"] = "album"
    id: str
    title: str
    slug: str
    artist_handle: str
    artist_display_name: str
    image_url: str | None = None
    relevance: float
    explain: SearchExplanation | None = None


class TagSearchResult(BaseModel):
    """A tag that was found."""

    type: Literal["tag"] = "tag"
    id: int
    name: str
    track_count: int
    relevance: float
    explain: SearchExplanation | None = None


class PlaylistSearchResult(BaseModel):
    """A playlist that was found."""

    type: Literal["playlist"] = "playlist"
    id: str
    name: str
    owner_handle: str
    owner_display_name: str
    image_url: str | None = None
    track_count: int
    relevance: float
    explain: SearchExplanation | None = None


SearchResult = Annotated[
    TrackSearchResult | ArtistSearchResult | AlbumSearchResult | TagSearchResult | PlaylistSearchResult,
    Field(discriminator="type"),
]


class SearchResponse(BaseModel):
    """One page of results, the totals of each type, and where the next page begins."""

    results: list[SearchResult]
    counts: dict[str, int]
    next_cursor: str | None = None
    has_more: bool = False


class Suggestion(BaseModel):
    """A name that a search would find; `by` is its artist's or owner's name."""

    type: str
    name: str
    by: str | None = None


class Suggestions(BaseModel):
    """Names, the best first."""

    suggestions: list[Suggestion]


class Tag(BaseModel):
    """A tag and how many tracks carry it."""

    name: str
    track_count: int
    total_plays: int = 0


class SubjectSeries(BaseModel):
    """The counts of one subject: a number for each bucket of the series."""

    of: Literal["all", "artist", "tag", "track"]
    subject: str | None = None
    title: str | None = None
    total: int
    values: list[int]


class Series(BaseModel):
    """Counts over time. `buckets`: when each begins, in UTC; the last one ends at `until`."""

    metric: str
    bucket: str
    buckets: list[datetime]
    until: datetime
    series: list[SubjectSeries]
    as_of: datetime


class Stats(BaseModel):
    """Totals over everything public."""

    total_plays: int
    total_tracks: int
    total_artists: int
    total_duration_seconds: int
    total_likes: int = 0
    total_comments: int = 0
    total_albums: int = 0
    total_playlists: int = 0
    as_of: datetime | None = None
