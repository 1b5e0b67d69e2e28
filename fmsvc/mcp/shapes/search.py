"""Results of a search."""

from typing import Literal

from fmsvc.mcp.shapes.common import Page, Shape
from fmsvc.mcp.text import Untrusted


class Found(Shape):
    """Something that was found. Which members it has depends on its type."""

    type: Literal["track", "artist", "album", "playlist", "tag"]
    relevance: float
    id: int | str | None = None
    did: str | None = None
    title: Untrusted | None = None
    name: Untrusted | None = None
    handle: str | None = None
    display_name: Untrusted | None = None
    artist_handle: str | None = None
    artist_display_name: Untrusted | None = None
    owner_handle: str | None = None
    slug: str | None = None
    track_count: int | None = None
    highlight: Untrusted | None = None


class Counts(Shape):
    """How many of each kind match, however many are shown."""

    tracks: int
    artists: int
    albums: int
    playlists: int
    tags: int


class SearchResults(Page):
    """Some results, and the true totals."""

    results: list[Found]
    counts: Counts
