"""Albums: list records of type album, with their artist's tracks."""

from schemas.api.shape import Count, Page, Shape, Time, Uuid
from schemas.api.tracks import Track
from schemas.publishing import Template


class AlbumSummary(Shape):
    """An album as lists show it."""

    id: Uuid
    title: str
    slug: str
    artist: str
    artist_handle: str
    track_count: Count
    total_plays: Count
    image_url: str | None


class AlbumPage(Page):
    """Some albums, and where to go on."""

    albums: list[AlbumSummary]


class AlbumMetadata(Shape):
    """Everything about an album but its tracks."""

    id: Uuid
    uri: str
    title: str
    slug: str
    description: str | None
    artist: str
    artist_handle: str
    artist_did: str
    track_count: Count
    total_plays: Count
    image_url: str | None
    created_at: Time
    publishing_defaults: Template | None = None


class Album(Shape):
    """An album and its tracks, in list order."""

    metadata: AlbumMetadata
    tracks: list[Track]
