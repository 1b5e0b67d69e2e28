"""Albums: list records of type album, with their artist's tracks."""

from pydantic import Field

from schemas.api.labels import LabelDetail
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
    """An album as it appears in lists."""

    id: Uuid
    title: str
    slug: str
    artist: str
    artist_handle: str
    track_count: Count
    total_plays: Count
    image_url: Address | None
    labels: list[str] = Field(description="The values of `label_details`, each once.")
    label_details: list[LabelDetail] = Field(description="Who says what of the album or its artist.")


class AlbumPage(Page):
    """A page of albums."""

    albums: list[AlbumSummary]


class AlbumMetadata(Shape):
    """The metadata of an album, without its tracks."""

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
    labels: list[str] = Field(description="The values of `label_details`, each once.")
    label_details: list[LabelDetail] = Field(description="Who says what of the album or its artist.")
    publishing_defaults: Template | None = None


class Album(Shape):
    """An album and its tracks, in list order."""

    metadata: AlbumMetadata
    tracks: list[Track]


class NewAlbum(Asked):
    """A new album."""

    title: ListTitle
    description: Prose | None = None
    slug: str | None = Field(None, description="Derived from the title. A different value is refused.")
    publishing_defaults: Template | None = None


class AlbumChange(Asked):
    """Changes to an album: absent members stay. An empty description clears it, null clears the template."""

    title: ListTitle | None = None
    description: Prose | None = None
    slug: str | None = Field(None, description="Derived from the title. A different value is refused.")
    publishing_defaults: Template | None = None


class Cover(AskedWithFile):
    """A cover picture for an album."""

    image: File
