"""Publishing: uploads, jobs that change access, earlier versions, preferences, capabilities."""

from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, ConfigDict, Field

from schemas.api.shape import (
    Asked,
    AskedWithFile,
    File,
    InForm,
    LargeFile,
    Listed,
    PublicId,
    Shape,
    Time,
    UriText,
    Uuid,
)
from schemas.publishing import Template
from schemas.records import MAX_FEATURES, MAX_TAGS, Name, Prose, Tag, Title
from schemas.rights import Ownership, SentOwnership, SentRights

Sent = TypeVar("Sent", SentRights, SentOwnership)


def _or_none(rights: Sent) -> Sent | None:
    return None if rights.is_empty else rights


# None of them: nothing is said in them.
WantedRights = Annotated[SentRights, AfterValidator(_or_none)] | None
WantedOwnership = Annotated[SentOwnership, AfterValidator(_or_none)] | None
Status = Literal["pending", "processing", "completed", "failed"]


class NewTrack(AskedWithFile):
    """A track to publish. Fields that are absent are filled in from the file's metadata, if it has them."""

    model_config = ConfigDict(extra="forbid")

    file: LargeFile
    title: Title | None = None
    album: Name | None = Field(
        None,
        description="Name of your album; created if you have none of that name. Empty: none. Without it "
        "and `album_id`: the album named in the file.",
    )
    album_id: Uuid | None = None
    tags: Annotated[Listed[Tag], Field(default_factory=list, max_length=MAX_TAGS)]
    features: Annotated[
        Listed[str], Field(default_factory=list, max_length=MAX_FEATURES, description="Handles or DIDs.")
    ]
    description: Prose | None = None
    image: File | None = None
    rights: Annotated[
        InForm[WantedRights],
        Field(
            description="Attached if the template that applies says so. The owner and parties "
            "in your preferences are added where these name none."
        ),
    ] = None
    publishing: InForm[Template] | None = None


class NewAudio(AskedWithFile):
    """Audio that replaces a track's audio."""

    model_config = ConfigDict(extra="forbid")

    file: LargeFile


class UploadAccepted(Shape):
    """The file is stored; processing continues without the client."""

    upload_id: str
    status: Status
    message: str


class UploadProgress(UploadAccepted):
    """The progress of an upload. `error` is an error code, as in error answers."""

    phase: str
    progress_pct: Annotated[int, Field(ge=0, le=100)]
    track_id: PublicId | None
    atproto_uri: UriText | None
    error: str | None


class Revision(Shape):
    """An earlier version of a track's audio. `was_gated`: it was not open to all listeners."""

    id: int
    track_id: PublicId
    created_at: Time
    file_type: str
    original_file_type: str | None
    audio_storage: Literal["pds", "managed"]
    duration: int | None
    was_gated: bool


class Revisions(Shape):
    """The latest earlier versions, newest first."""

    track_id: PublicId
    revisions: list[Revision]


class WantedSettings(Asked):
    """The settings for a track; null: those of its album, or of the Portal."""

    model_config = ConfigDict(extra="forbid")

    settings: Template | None


class WantedAlbumSettings(WantedSettings):
    """The settings for an album and its tracks; null: those of the Portal."""

    replace_overrides: bool = Field(False, description="Also change tracks that have their own settings.")


class JobAccepted(Shape):
    """The change is queued. Request the job to follow its progress."""

    job_id: str
    status: Status
    message: str


class AlbumJobAccepted(JobAccepted):
    """Which tracks will be changed, and which keep their own settings."""

    selected_track_ids: list[PublicId]
    preserved_track_ids: list[PublicId]


class Failure(Shape):
    """A track that could not be changed. `reason` is an error code, as in error answers."""

    track_id: PublicId
    reason: str
    message: str


class Job(Shape):
    """The progress of a publishing job, by track."""

    job_id: str
    status: Status
    message: str | None
    selected_track_ids: list[PublicId]
    preserved_track_ids: list[PublicId]
    updated_track_ids: list[PublicId]
    failed_track_ids: list[PublicId]
    failures: list[Failure]
    created_at: Time
    completed_at: Time | None


class ChosenPreferences(Asked):
    """An account's new preferences. `publishing_defaults` is the Portal template.

    `show_playing`: whether others see what the account is listening to; if absent or null, as before.
    """

    model_config = ConfigDict(extra="forbid")

    publishing_defaults: Template
    scrobbling: bool
    rights: WantedOwnership = None
    show_playing: bool | None = None


class Preferences(Shape):
    """An account's preferences."""

    publishing_defaults: Template
    scrobbling: bool
    rights: Ownership | None
    show_playing: bool


class Availability(Shape):
    """Whether an audience can be chosen, and if not, why."""

    available: bool
    reason: str | None


class Capabilities(Shape):
    """Which audiences the account may choose."""

    audiences: dict[Literal["public", "signed_in", "supporters", "owner", "space"], Availability]
    downloads: dict[Literal["open", "ask", "supporters", "off"], Availability]
