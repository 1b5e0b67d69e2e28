"""What tools answer with: the members of the API's answers that models use, by the API's names.

Members that the API adds later are left out, so that a newer server does not break an older client.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fmsvc.mcp.text import Untrusted, UntrustedObject

Listening = Literal["public", "signed_in", "supporters", "owner", "space"]
Downloads = Literal["open", "ask", "supporters", "off"]
Visibility = Literal["public", "unlisted", "private"]


class Shape(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Page(Shape):
    """A page of a list. `next_cursor` leads to the next one; null at the end."""

    next_cursor: str | None = None
    has_more: bool = False


class Access(Shape):
    """Who may hear the track, download the original, and find it."""

    listening: Listening
    downloads: Downloads
    visibility: Visibility


class Template(Shape):
    """The publishing settings of a track, always whole."""

    access: Access
    attach_rights: bool


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


class TopTracks(Shape):
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


class Tag(Shape):
    """A tag and how much it is used."""

    name: Untrusted
    track_count: int
    total_plays: int


class Tags(Shape):
    """Tags, the most used first."""

    tags: list[Tag]


class Found(Shape):
    """Something that was found. Which members it has depends on its type."""

    type: Literal["track", "artist", "album", "playlist", "tag"]
    relevance: float
    id: int | str | None = None
    did: str | None = None
    title: Untrusted | None = None
    name: Untrusted | None = None
    handle: str | None = None
    display_name: Untrusted | None = None
    artist_handle: str | None = None
    artist_display_name: Untrusted | None = None
    owner_handle: str | None = None
    slug: str | None = None
    track_count: int | None = None
    highlight: Untrusted | None = None


class Counts(Shape):
    """How many of each kind match, however many are shown."""

    tracks: int
    artists: int
    albums: int
    playlists: int
    tags: int


class SearchResults(Page):
    """Some results, and the true totals."""

    results: list[Found]
    counts: Counts


class Playlist(Shape):
    """A playlist."""

    id: str
    name: Untrusted
    owner_did: str
    owner_handle: str
    owner_display_name: Untrusted | None
    track_count: int
    show_on_profile: bool
    created_at: str


class Playlists(Shape):
    """Playlists of one account."""

    playlists: list[Playlist]


class PlaylistWithTracks(Playlist):
    """A playlist and its tracks, in order."""

    tracks: list[Track]


class Recommendations(Shape):
    """Tracks that go with a playlist. `available`: it holds something that others can be like."""

    tracks: list[Track]
    available: bool


class Album(Shape):
    """An album as lists show it."""

    id: str
    title: Untrusted
    slug: str
    artist: Untrusted
    artist_handle: str
    track_count: int
    total_plays: int


class Albums(Page):
    """Some albums."""

    albums: list[Album]


class AlbumWithTracks(Album):
    """An album and its tracks, in order."""

    uri: str
    artist_did: str
    description: Untrusted | None
    created_at: str
    tracks: list[Track]

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, told: Any) -> Any:
        return {**told, **told.get("metadata", {})} if isinstance(told, dict) else told


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


class Artist(Shape):
    """An account that publishes."""

    did: str
    handle: str
    display_name: Untrusted | None
    bio: Untrusted | None
    support_url: str | None


class Stats(Shape):
    """Totals over everything that is visible."""

    total_plays: int
    total_tracks: int
    total_artists: int
    total_duration_seconds: int
    total_likes: int
    total_comments: int
    total_albums: int
    total_playlists: int
    as_of: str


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


class Availability(Shape):
    """Whether this can be chosen, and if not, why."""

    available: bool
    reason: str | None


class Capabilities(Shape):
    """Which audiences the caller may choose for listening and for downloads."""

    audiences: dict[str, Availability]
    downloads: dict[str, Availability]


class Liked(Shape):
    """Whether the caller likes the track now."""

    track_id: int | str
    liked: bool


class PublishingChange(Shape):
    """A change of access: as a dry run, with what it would do, or queued, with its job.

    A queued job is not a completed change: ask for it with publishing_job.
    """

    track_id: int | str
    before: Template
    after: Template
    changes: list[str] = Field(description="What becomes different, in words.")
    warnings: list[str]
    confirmation: str | None = Field(None, description="Pass it to make exactly this change.")
    job_id: str | None = None
    status: str


class Failure(Shape):
    """A track that could not be changed, and why."""

    track_id: int
    reason: str
    message: str


class Job(Shape):
    """How far a change of access is."""

    job_id: str
    status: Annotated[str, Field(description="pending, processing, completed or failed.")]
    message: str | None
    updated_track_ids: list[int]
    failed_track_ids: list[int]
    failures: list[Failure]
