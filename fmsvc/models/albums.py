"""Albums."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from fmsvc.models.labels import LabelDetail
from fmsvc.models.publishing import PublishingDefaults


class Album(BaseModel):
    """The album of a track."""

    id: UUID
    title: str
    slug: str
    description: str | None = None
    image_url: str | None = None


class AlbumSummary(Album):
    """An album as lists show it."""

    artist: str = ""
    artist_handle: str = ""
    track_count: int = 0
    total_plays: int = 0
    labels: list[str] = Field(default_factory=list)
    label_details: list[LabelDetail] = Field(default_factory=list)


class AlbumMetadata(AlbumSummary):
    """Everything about an album but its tracks."""

    uri: str
    artist_did: str
    created_at: datetime | None = None
    publishing_defaults: PublishingDefaults | None = None
