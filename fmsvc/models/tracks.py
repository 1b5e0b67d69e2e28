"""Tracks, their uploads, earlier audio, proofs and comments."""

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fmsvc.models.albums import Album
from fmsvc.models.artists import Artist
from fmsvc.models.labels import LabelDetail
from fmsvc.models.publishing import PublishingDefaults, Sent


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
    artist_avatar_url: str | None = None
    play_count: int = 0
    like_count: int = 0
    comment_count: int = 0
    album: Album | None = None
    image_url: str | None = None
    thumbnail_url: str | None = None
    audio_url: str | None = Field(default=None, alias="r2_url")
    stream_url: str | None = None
    tags: list[str] = Field(default_factory=list)
    features: list[Artist] = Field(default_factory=list)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    indexed_at: datetime | None = None
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
    label_details: list[LabelDetail] = Field(default_factory=list)
    uri: str | None = None
    cid: str | None = None
    atproto_record_url: str | None = None
    atproto_uri: str | None = Field(default=None, alias="atproto_record_uri")
    atproto_cid: str | None = Field(default=None, alias="atproto_record_cid")


class TrackPatch(Sent):
    """What to change of a track; None stays. An empty description or album clears it. `features`: JSON."""

    title: str | None = None
    album: str | None = None
    features: str | None = None
    tags: list[str] | None = None
    image: Path | str | None = None
    description: str | None = None


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
    atproto_uri: str | None = None
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


class TrackProof(BaseModel):
    """How the service verified a track's record. `client.tracks.verify` needs no trust in it."""

    uri: str
    did: str
    cid: str
    rev: str
    verified: str
    verified_at: datetime
    proof_url: str | None = None


class VerifiedRecord(BaseModel):
    """A record that a signed commit of its account's repo holds."""

    uri: str
    did: str
    cid: str
    rev: str
    record: dict[str, Any]


class Comment(BaseModel):
    """A comment at `timestamp_ms` of a track."""

    id: int
    uri: str
    user_did: str
    user_handle: str
    user_display_name: str | None = None
    user_avatar_url: str | None = None
    text: str
    timestamp_ms: int
    created_at: datetime
    updated_at: datetime | None = None
    labels: list[str] = Field(default_factory=list)
    label_details: list[LabelDetail] = Field(default_factory=list)
