"""Albums: list records of type album, with their artist's tracks."""

from pydantic import Field

from schemas.api.playlists import ListTitle
from schemas.api.shape import (
    Address,
    Asked,
    AskedWithFile,
    Count,
    DidText,
    File,
    Page,
    Shape,
    Time,
    UriText,
    Uuid,
)
from schemas.api.tracks import Track
from schemas.publishing import Template
from schemas.records import Prose


class AlbumSummary(Shape):
    """An album as lists show it."""

    id: Uuid
    title: str
    slug: str
    artist: str
    artist_handle: str
    track_count: Count
    total_plays: Count
    image_url: Address | None


class AlbumPage(Page):
    """Some albums, and where to go on."""

    albums: list[AlbumSummary]


class AlbumMetadata(Shape):
    """Everything about an album but its tracks."""

    id: Uuid
    uri: UriText
    title: str
    slug: str
    description: str | None
    artist: str
    artist_handle: str
    artist_did: DidText
    track_count: Count
    total_plays: Count
    image_url: Address | None
    created_at: Time
    publishing_defaults: Template | None = None


class Album(Shape):
    """An album and its tracks, in list order."""

    metadata: AlbumMetadata
    tracks: list[Track]


class NewAlbum(Asked):
    """An album to be made."""

    title: ListTitle
    description: Prose | None = None
    slug: str | None = Field(None, description="Follows from the title; another one is refused.")
    publishing_defaults: Template | None = None


class AlbumChange(Asked):
    """What to change; what is not given stays. An empty description clears it, null the template."""

    title: ListTitle | None = None
    description: Prose | None = None
    slug: str | None = Field(None, description="Follows from the title; another one is refused.")
    publishing_defaults: Template | None = None


class Cover(AskedWithFile):
    """A picture for an album."""

    image: File
