"""Tracks, and the accounts that liked them."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from schemas.access import Downloads, Visibility
from schemas.api.artists import Person
from schemas.api.labels import LabelDetail
from schemas.api.shape import (
    Address,
    AskedInParts,
    Count,
    DidText,
    File,
    Listed,
    Page,
    PublicId,
    Shape,
    Time,
    UriText,
    Uuid,
)
from schemas.publishing import PolicyOrigin, Template
from schemas.records import MAX_FEATURES, MAX_TAGS, Name, Prose, Tag, Title
from schemas.rights import Code, Rights


class Feature(Shape):
    """An artist featured on a track. `display_name` falls back to the handle."""

    did: DidText
    handle: str
    display_name: str
    avatar_url: Address | None


class TrackAlbum(Shape):
    """The album that a track belongs to."""

    id: Uuid
    title: str
    slug: str
    image_url: Address | None


class SupportGate(Shape):
    """Which of the two, listening or downloading, is for supporters only."""

    type: Literal["listening", "downloads"]


class Track(Shape):
    """A track, with the viewer's permissions."""

    id: PublicId
    uri: UriText
    cid: str
    title: str
    artist: str = Field(description="The artist's display name, else the handle.")
    artist_handle: str
    artist_did: DidText
    artist_avatar_url: Address | None
    file_id: str = Field(
        description="Identifies the recording, and changes with it: the blob's CID if everyone may "
        "download it; the SHA-256 of a file that this service stores; otherwise an opaque hash."
    )
    file_type: str
    duration: int | None = Field(description="Seconds.")
    description: str | None
    features: list[Feature]
    album: TrackAlbum | None
    tags: list[str]
    image_url: Address | None
    thumbnail_url: Address | None
    created_at: Time
    updated_at: Time | None
    indexed_at: Time
    like_count: Count
    comment_count: Count
    play_count: Count
    publishing: Template
    policy_origin: PolicyOrigin | None
    visibility: Visibility
    unlisted: bool
    download_policy: Downloads
    support_gate: SupportGate | None
    stream_url: Address
    r2_url: Address | None = Field(
        description="The same as `stream_url`, for older clients; null when `gated`."
    )
    audio_storage: Literal["pds", "managed", "both", "none"]
    pds_blob_cid: str | None = Field(
        description="The recording's blob at the artist's server, if everyone may download it. Otherwise no "
        "answer names the blob except the record and its proof, which are public at that server."
    )
    atproto_record_uri: UriText
    atproto_record_cid: str
    atproto_record_url: Address
    labels: list[str] = Field(description="The values of `label_details`, each once.")
    label_details: list[LabelDetail] = Field(description="Who says what of the track or its artist.")
    rights: Rights | None
    is_liked: bool
    gated: bool = Field(description="The viewer may not listen.")
    downloadable: bool


class TrackProof(Shape):
    """The evidence that the artist published this track: the record, and how it was verified."""

    uri: UriText
    did: DidText
    cid: str
    rev: str = Field(description="The rev of the commit that wrote this version of the record.")
    verified: Literal["commit", "repo", "proof", "unverified"] = Field(
        description="How it was verified: by its commit in the stream, by the signed repo, or by its "
        "own proof. `unverified`: so far only a Jetstream reported it."
    )
    verified_at: Time = Field(description="When this version was verified.")
    proof_url: Address | None = Field(description="The URL of the proof at the artist's server.")


class TrackPage(Page):
    """A page of tracks."""

    tracks: list[Track]


class Liker(Person):
    """An account that liked a track, and when."""

    liked_at: Time


class LikerPage(Page):
    """The accounts that liked a track, newest first; `count` is the total."""

    users: list[Liker]
    count: Count


class LikedTrackPage(Page):
    """The tracks that an account liked, newest like first.

    `count`: how many of the newest 5,000 likes are visible to the viewer.
    """

    user: Person
    tracks: list[Track]
    count: Count


class OwnTrackPage(Page):
    """A page of the signed-in account's tracks. `total`: all matches; with `q`, among the first 1,000.

    Of likes, the newest 5,000 are counted and sorted by popularity. `incomplete`: why tracks in a private
    Space are missing, as a sentence; absent when none are.
    """

    tracks: list[Track]
    total: Count
    incomplete: str | None


class LikeState(Shape):
    """Whether the viewer likes the track now."""

    liked: bool


class PlayCount(Shape):
    """A track's plays so far."""

    play_count: Count


class TrackChange(AskedInParts):
    """Changes to a track's metadata: absent members stay; an empty text or list clears. Access stays."""

    model_config = ConfigDict(extra="forbid")

    title: Title | None = None
    album: Name | None = None
    tags: Annotated[Listed[Tag], Field(max_length=MAX_TAGS)] | None = None
    features: (
        Annotated[Listed[str], Field(max_length=MAX_FEATURES, description="Handles or DIDs.")] | None
    ) = None
    description: Prose | None = None
    isrc: Code | None = Field(None, description="Stored in `rights`, like `iswc`.")
    iswc: Code | None = None
    image: File | None = None
    remove_image: bool = False
