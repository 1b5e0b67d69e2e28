"""Albums and playlists with their tracks, and tracks that would go with a playlist."""

from datetime import datetime

from pydantic import BaseModel, Field

from fmsvc.models.albums import AlbumMetadata
from fmsvc.models.labels import LabelDetail
from fmsvc.models.tracks import Track


class AlbumWithTracks(BaseModel):
    """An album and its tracks, in order."""

    metadata: AlbumMetadata
    tracks: list[Track]


class Playlist(BaseModel):
    """A playlist as lists show it."""

    id: str
    name: str
    owner_did: str
    owner_handle: str
    owner_display_name: str | None = None
    track_count: int = 0
    image_url: str | None = None
    show_on_profile: bool = False
    atproto_record_uri: str | None = None
    created_at: datetime | None = None
    labels: list[str] = Field(default_factory=list)
    label_details: list[LabelDetail] = Field(default_factory=list)


class PlaylistWithTracks(Playlist):
    """A playlist and its tracks, in order."""

    tracks: list[Track] = Field(default_factory=list)


class RecommendedTrack(BaseModel):
    """A track that would go with a playlist."""

    id: int
    title: str
    artist_handle: str
    artist_display_name: str
    image_url: str | None = None


class PlaylistRecommendations(BaseModel):
    """Tracks that would go with a playlist. `available`: the playlist holds tracks to compare with."""

    tracks: list[RecommendedTrack]
    available: bool
