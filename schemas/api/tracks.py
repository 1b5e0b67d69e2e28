"""Tracks, and who liked them."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from schemas.access import Downloads, Visibility
from schemas.api.artists import Person
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
    """Which of the two, listening or downloads, is for supporters."""

    type: Literal["listening", "downloads"]


class Track(Shape):
    """One track, with what the person asking may do with it."""

    id: PublicId
    uri: UriText
    cid: str
    title: str
    artist: str = Field(description="The artist's display name, else the handle.")
    artist_handle: str
    artist_did: DidText
    artist_avatar_url: Address | None
    file_id: str = Field(
        description="Stands for the recording, and changes with it: the blob's CID where everybody may "
        "download; the SHA-256 of the file where this service keeps it; else a hash that names no blob."
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
        description="`stream_url` by the name that older clients know; null where `gated`."
    )
    audio_storage: Literal["pds", "managed", "both", "none"]
    pds_blob_cid: str | None = Field(
        description="The recording's blob at the artist's server, where everybody may download. Elsewhere no "
        "answer names it but the record itself, which is public at its server, and its proof."
    )
    atproto_record_uri: UriText
    atproto_record_cid: str
    atproto_record_url: Address
    labels: list[str]
    rights: Rights | None
    is_liked: bool
    gated: bool = Field(description="The person asking may not listen.")
    downloadable: bool


class TrackProof(Shape):
    """How we know that the artist published this track: the record, and how it was verified."""

    uri: UriText
    did: DidText
    cid: str
    rev: str = Field(description="The repo's commit that brought this version of the record.")
    verified: Literal["commit", "repo", "proof", "unverified"] = Field(
        description="What proved it: its signed commit in the stream, the whole signed repo, or the record's "
        "own proof. `unverified`: taken on the word of a Jetstream so far."
    )
    verified_at: Time = Field(description="Since when this service knows it so.")
    proof_url: Address | None = Field(description="Where the artist's own server gives the proof.")


class TrackPage(Page):
    """Some tracks, and where to go on."""

    tracks: list[Track]


class Liker(Person):
    """An account that liked a track, and when."""

    liked_at: Time


class LikerPage(Page):
    """Who liked a track, newest first; `count` is of all of them."""

    users: list[Liker]
    count: Count


class LikedTrackPage(Page):
    """What somebody liked, newest like first; `count` tells how many of the newest 5,000 likes are shown."""

    user: Person
    tracks: list[Track]
    count: Count


class OwnTrackPage(Page):
    """Tracks of whoever asks; `total` is of all that match: with `q`, among the first 1,000 in this order.

    Of likes the newest 5,000 are counted, and sorted by popularity.
    `incomplete`: a sentence when tracks in a private Space could not be asked for.
    """

    tracks: list[Track]
    total: Count
    incomplete: str | None


class LikeState(Shape):
    """Whether the person asking likes the track now."""

    liked: bool


class PlayCount(Shape):
    """A track's plays so far."""

    play_count: Count


class TrackChange(AskedInParts):
    """What is to be changed; the rest stays. An empty text or list clears. Access is changed elsewhere."""

    model_config = ConfigDict(extra="forbid")

    title: Title | None = None
    album: Name | None = None
    tags: Annotated[Listed[Tag], Field(max_length=MAX_TAGS)] | None = None
    features: (
        Annotated[Listed[str], Field(max_length=MAX_FEATURES, description="Handles or DIDs.")] | None
    ) = None
    description: Prose | None = None
    isrc: Code | None = Field(None, description="Kept in `rights`, as `iswc` is.")
    iswc: Code | None = None
    image: File | None = None
    remove_image: bool = False
