"""Who may hear, download and find tracks, and changes of that."""

from typing import Annotated, Literal

from pydantic import Field

from fmsvc.mcp.shapes.common import Shape

Listening = Literal["public", "signed_in", "supporters", "owner", "space"]
Downloads = Literal["open", "ask", "supporters", "off"]
Visibility = Literal["public", "unlisted", "private"]


class Access(Shape):
    """Who may hear the track, download the original, and find it."""

    listening: Listening
    downloads: Downloads
    visibility: Visibility


class Template(Shape):
    """The publishing settings of a track, always whole."""

    access: Access
    attach_rights: bool


class Availability(Shape):
    """Whether this can be chosen, and if not, why."""

    available: bool
    reason: str | None


class Capabilities(Shape):
    """Which audiences the caller may choose for listening and for downloads."""

    audiences: dict[str, Availability]
    downloads: dict[str, Availability]


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
