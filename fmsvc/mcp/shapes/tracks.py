"""Tracks, and what belongs to one: proof, earlier audio, comments."""

from typing import Any

from pydantic import Field, ValidationInfo, model_validator

from fmsvc.mcp.shapes.common import Listed, Page, Shape
from fmsvc.mcp.shapes.publishing import Template
from fmsvc.mcp.text import Untrusted, UntrustedObject


class TrackAlbum(Shape):
    """The album that a track belongs to."""

    id: str
    title: Untrusted


class Track(Shape):
    """A track, and what the caller may do with it. `page_url` is the page to share."""

    id: int
    uri: str
    title: Untrusted
    artist: Untrusted
    artist_handle: str
    artist_did: str
    page_url: str
    album: TrackAlbum | None
    tags: list[Untrusted]
    description: Untrusted | None
    duration: int | None = Field(description="Seconds.")
    created_at: str
    like_count: int
    comment_count: int
    play_count: int
    is_liked: bool
    gated: bool = Field(description="The caller may not listen.")
    downloadable: bool
    publishing: Template
    labels: list[str]

    @model_validator(mode="before")
    @classmethod
    def _add_page(cls, found: Any, info: ValidationInfo) -> Any:
        """`page_url`, under the service's address, which readers of answers give as context."""
        if not isinstance(found, dict) or info.context is None:
            return found
        return {**found, "page_url": f"{info.context['address']}/track/{found.get('id')}"}


class Feature(Shape):
    """An artist featured on a track."""

    did: str
    handle: str
    display_name: Untrusted


class TrackDetail(Track):
    """A track with all that its record says. `stream_url` is audio; that it is there proves no playback."""

    cid: str
    stream_url: str
    file_type: str
    policy_origin: str | None
    features: list[Feature]
    rights: UntrustedObject | None
    updated_at: str | None


class Tracks(Page):
    """Some tracks."""

    tracks: list[Track]


class TopTracks(Listed):
    """The tracks with the most likes in a period, the first ones first."""

    tracks: list[Track]


class OwnTracks(Tracks):
    """Tracks of the caller's own; `total` is of all that match."""

    total: int


class TaggedTracks(Tracks):
    """Some tracks that carry one tag, newest first."""

    track_count: int

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, told: Any) -> Any:
        return {**told, **told.get("tag", {})} if isinstance(told, dict) else told


class Liked(Shape):
    """Whether the caller likes the track now."""

    track_id: int | str
    liked: bool


class Proof(Shape):
    """How the service knows that the artist published a track. Check it yourself with `verify_with`."""

    uri: str
    did: str
    cid: str
    rev: str
    verified: str = Field(
        description="commit, repo or proof: by the artist's signature. unverified: on a server's word so far."
    )
    verified_at: str
    proof_url: str | None = Field(description="Where the artist's own server gives the proof.")
    verify_with: str = Field(description="A command that checks the proof without trusting the service.")

    @model_validator(mode="before")
    @classmethod
    def _add_command(cls, found: Any) -> Any:
        return (
            {**found, "verify_with": f"fmsvc verify {found.get('uri')}"} if isinstance(found, dict) else found
        )


class Revision(Shape):
    """An earlier version of a track's audio."""

    id: int
    track_id: int
    created_at: str
    file_type: str
    duration: int | None
    was_gated: bool


class Revisions(Shape):
    """Earlier versions, newest first."""

    track_id: int
    revisions: list[Revision]


class Comment(Shape):
    """A comment at a moment of a track."""

    id: int
    text: Untrusted
    timestamp_ms: int
    user_did: str
    user_handle: str
    user_display_name: Untrusted | None
    created_at: str


class Comments(Page):
    """Comments of a track by their moment; `count` is of all of them."""

    comments: list[Comment]
    count: int
