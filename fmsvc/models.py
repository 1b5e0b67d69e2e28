"""Answers of the API and the patches sent to it. Members that this version does not know are ignored."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from fmsvc.errors import AnswerError

TrackId: TypeAlias = int
TrackUri: TypeAlias = str
TrackRef: TypeAlias = int | str
PlaylistId: TypeAlias = str
AlbumId: TypeAlias = str
ArtistDid: TypeAlias = str
ArtistHandle: TypeAlias = str
ArtistRef: TypeAlias = str


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid")


class PublishingPolicy(_Sent):
    """Who may listen, download, and find."""

    listening: Literal["public", "signed_in", "supporters", "owner", "space"] = "public"
    downloads: Literal["open", "ask", "supporters", "off"] = "open"
    visibility: Literal["public", "unlisted", "private"] = "public"


class PublishingDefaults(_Sent):
    """A complete publishing template."""

    access: PublishingPolicy = Field(default_factory=PublishingPolicy)
    attach_rights: bool = False


class TrackPatch(_Sent):
    """What to change of a track; None stays. An empty description or album clears it. `features`: JSON."""

    title: str | None = None
    album: str | None = None
    features: str | None = None
    tags: list[str] | None = None
    image: Path | str | None = None
    description: str | None = None


class ArtistProfilePatch(_Sent):
    """What to change of one's profile; None stays, an empty text clears."""

    bio: str | None = None
    display_name: str | None = None
    support_url: str | None = None
    show_liked_on_profile: bool | None = None


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


class Liker(Artist):
    """An account that likes a track."""

    liked_at: datetime


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


class AlbumMetadata(AlbumSummary):
    """Everything about an album but its tracks."""

    uri: str
    artist_did: str
    created_at: datetime | None = None
    publishing_defaults: PublishingDefaults | None = None


class Track(BaseModel):
    """One track, with what the account of the token may do with it. `duration` in seconds."""

    model_config = ConfigDict(populate_by_name=True)

    id: int
    title: str
    description: str | None = None
    file_id: str
    file_type: str = "mp3"
    duration: int | None = None
    artist: str = ""
    artist_handle: str = ""
    artist_did: str = ""
    play_count: int = 0
    like_count: int = 0
    comment_count: int = 0
    album: Album | None = None
    image_url: str | None = None
    audio_url: str | None = Field(default=None, alias="r2_url")
    stream_url: str | None = None
    tags: list[str] = Field(default_factory=list)
    features: list[Artist] = Field(default_factory=list)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    unlisted: bool = False
    visibility: str = "public"
    publishing: PublishingDefaults | None = None
    policy_origin: Literal["portal", "album", "track"] | None = None
    download_policy: str | None = None
    support_gate: dict[str, Any] | None = None
    gated: bool = False
    downloadable: bool = False
    is_liked: bool = False
    audio_storage: str = "pds"
    pds_blob_cid: str | None = None
    original_file_id: str | None = None
    original_file_type: str | None = None
    rights: dict[str, Any] | None = None
    labels: list[str] = Field(default_factory=list)
    atproto_uri: str | None = Field(default=None, alias="atproto_record_uri")
    atproto_cid: str | None = Field(default=None, alias="atproto_record_cid")


class AlbumWithTracks(BaseModel):
    """An album and its tracks, in order."""

    metadata: AlbumMetadata
    tracks: list[Track]


class UploadResult(BaseModel):
    """What came of an upload."""

    track_id: int
    title: str


class UploadProgress(BaseModel):
    """How far an upload is. `error` is a code."""

    upload_id: str
    status: str
    message: str | None = None
    phase: str | None = None
    progress_pct: int = 0
    track_id: int | None = None
    error: str | None = None


class AudioRevision(BaseModel):
    """An earlier version of a track's audio."""

    id: int
    track_id: int
    created_at: datetime
    file_type: str
    original_file_type: str | None = None
    audio_storage: str
    duration: int | None = None
    was_gated: bool


class TrackSearchResult(BaseModel):
    """A track that was found."""

    type: Literal["track"] = "track"
    id: int
    title: str
    artist_handle: str
    artist_display_name: str
    image_url: str | None = None
    relevance: float
    highlight: str | None = None


class ArtistSearchResult(BaseModel):
    """An artist who was found."""

    type: Literal["artist"] = "artist"
    did: str
    handle: str
    display_name: str
    avatar_url: str | None = None
    relevance: float


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


class TagSearchResult(BaseModel):
    """A tag that was found."""

    type: Literal["tag"] = "tag"
    id: int
    name: str
    track_count: int
    relevance: float


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


SearchResult = Annotated[
    TrackSearchResult | ArtistSearchResult | AlbumSearchResult | TagSearchResult | PlaylistSearchResult,
    Field(discriminator="type"),
]


class SearchResponse(BaseModel):
    """One page of results, the totals of each type, and where the next page begins."""

    results: list[SearchResult]
    counts: dict[str, int]
    next_cursor: str | None = None


class Tag(BaseModel):
    """A tag and how many tracks carry it."""

    name: str
    track_count: int
    total_plays: int = 0


class Playlist(BaseModel):
    """A playlist as lists show it."""

    id: str
    name: str
    owner_did: str
    owner_handle: str
    track_count: int = 0
    image_url: str | None = None
    show_on_profile: bool = False
    atproto_record_uri: str | None = None
    created_at: datetime | None = None


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


class Comment(BaseModel):
    """A comment at `timestamp_ms` of a track."""

    id: int
    uri: str
    user_did: str
    user_handle: str
    user_display_name: str | None = None
    text: str
    timestamp_ms: int
    created_at: datetime
    updated_at: datetime | None = None


class TrackProof(BaseModel):
    """How the service verified a track's record. `client.tracks.verify` needs no trust in it."""

    uri: str
    did: str
    cid: str
    rev: str
    verified: str
    verified_at: datetime
    proof_url: str | None = None


class JobFailure(BaseModel):
    """A track that a job could not change. `reason` is a code."""

    track_id: int
    reason: str
    message: str


class Job(BaseModel):
    """A publishing job, queued or done, track by track."""

    job_id: str
    status: Literal["pending", "processing", "completed", "failed"]
    message: str | None = None
    selected_track_ids: list[int] = Field(default_factory=list)
    preserved_track_ids: list[int] = Field(default_factory=list)
    updated_track_ids: list[int] = Field(default_factory=list)
    failed_track_ids: list[int] = Field(default_factory=list)
    failures: list[JobFailure] = Field(default_factory=list)
    created_at: datetime | None = None
    completed_at: datetime | None = None


class Availability(BaseModel):
    """Whether an audience can be chosen; else why not."""

    available: bool
    reason: str | None = None


class Capabilities(BaseModel):
    """The audiences that the account may choose."""

    audiences: dict[str, Availability]
    downloads: dict[str, Availability]


class DryRun(BaseModel):
    """What setting a template would do. `problems`: sentences; empty when the service would accept it."""

    current: PublishingDefaults | None
    wanted: PublishingDefaults
    problems: list[str]


class Preferences(BaseModel):
    """An account's preferences; `publishing_defaults` applies where neither track nor album has settings."""

    publishing_defaults: PublishingDefaults
    scrobbling: bool
    rights: dict[str, Any] | None = None


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


class VerifiedRecord(BaseModel):
    """A record that a signed commit of its account's repo holds."""

    uri: str
    did: str
    cid: str
    rev: str
    record: dict[str, Any]


def parse_object(found: object) -> dict[str, Any]:
    """An answer that is a JSON object. Raises AnswerError."""
    if not isinstance(found, dict):
        raise AnswerError("The service's answer is no object.")
    return found
