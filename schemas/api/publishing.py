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
    """A track to publish. What the form does not say is taken from the file, as far as that says it."""

    model_config = ConfigDict(extra="forbid")

    file: LargeFile
    title: Title | None = None
    album: Name | None = Field(
        None,
        description="Name of an album of yours; made when there is none. Empty: no album. With neither this "
        "nor `album_id`: the album that the file names.",
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
            description="Attached where the template that applies says so. The owner and parties that you "
            "saved in your preferences are added where these name none."
        ),
    ] = None
    publishing: InForm[Template] | None = None


class NewAudio(AskedWithFile):
    """Audio in place of a track's own."""

    model_config = ConfigDict(extra="forbid")

    file: LargeFile


class UploadAccepted(Shape):
    """The file is safe; the rest goes on without you."""

    upload_id: str
    status: Status
    message: str


class UploadProgress(UploadAccepted):
    """How far an upload is. `error` is a code, as in refusals."""

    phase: str
    progress_pct: Annotated[int, Field(ge=0, le=100)]
    track_id: PublicId | None
    atproto_uri: UriText | None
    error: str | None


class Revision(Shape):
    """An earlier version of a track's audio. `was_gated`: not everybody could hear it then."""

    id: int
    track_id: PublicId
    created_at: Time
    file_type: str
    original_file_type: str | None
    audio_storage: Literal["pds", "managed"]
    duration: int | None
    was_gated: bool


class Revisions(Shape):
    """The last versions, newest first."""

    track_id: PublicId
    revisions: list[Revision]


class WantedSettings(Asked):
    """The settings that a track is to have; null: those of its album or of the Portal."""

    model_config = ConfigDict(extra="forbid")

    settings: Template | None


class WantedAlbumSettings(WantedSettings):
    """The settings that an album and its tracks are to have; null: those of the Portal."""

    replace_overrides: bool = Field(
        False, description="Also those of tracks that have settings of their own."
    )


class JobAccepted(Shape):
    """The change is queued, not done: ask for the job."""

    job_id: str
    status: Status
    message: str


class AlbumJobAccepted(JobAccepted):
    """Which tracks are to be changed, and which keep their own settings."""

    selected_track_ids: list[PublicId]
    preserved_track_ids: list[PublicId]


class Failure(Shape):
    """A track that could not be changed. `reason` is a code, as in refusals."""

    track_id: PublicId
    reason: str
    message: str


class Job(Shape):
    """How far a publishing job is, track by track."""

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
    """An account's new preferences. `publishing_defaults` is the Portal template."""

    model_config = ConfigDict(extra="forbid")

    publishing_defaults: Template
    scrobbling: bool
    rights: WantedOwnership = None


class Preferences(Shape):
    """An account's preferences."""

    publishing_defaults: Template
    scrobbling: bool
    rights: Ownership | None


class Availability(Shape):
    """Can this be chosen, and if not, why."""

    available: bool
    reason: str | None


class Capabilities(Shape):
    """Which audiences the account may choose."""

    audiences: dict[Literal["public", "signed_in", "supporters", "owner", "space"], Availability]
    downloads: dict[Literal["open", "ask", "supporters", "off"], Availability]
