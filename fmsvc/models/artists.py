"""Artists and their profiles."""

from datetime import datetime

from pydantic import BaseModel, Field

from fmsvc.models.labels import LabelDetail
from fmsvc.models.publishing import Sent


class Artist(BaseModel):
    """An account as lists name it."""

    did: str
    handle: str
    display_name: str | None = None
    avatar_url: str | None = None


class ArtistProfile(Artist):
    """An account's profile."""

    bio: str | None = None
    support_url: str | None = None
    show_liked_on_profile: bool = False
    created_at: datetime | None = None
    updated_at: datetime | None = None
    labels: list[str] = Field(default_factory=list)
    label_details: list[LabelDetail] = Field(default_factory=list)


class ArtistProfilePatch(Sent):
    """What to change of one's profile; None stays, an empty text clears."""

    bio: str | None = None
    display_name: str | None = None
    support_url: str | None = None
    show_liked_on_profile: bool | None = None


class Liker(Artist):
    """An account that likes a track."""

    liked_at: datetime
