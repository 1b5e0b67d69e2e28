"""Publishing: templates, the audiences that can be chosen, and the jobs that change tracks."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Sent(BaseModel):
    """What is sent to the service: a member that it does not know is refused here."""

    model_config = ConfigDict(extra="forbid")


class PublishingPolicy(Sent):
    """Who may listen, download, and find."""

    listening: Literal["public", "signed_in", "supporters", "owner", "space"] = "public"
    downloads: Literal["open", "ask", "supporters", "off"] = "open"
    visibility: Literal["public", "unlisted", "private"] = "public"


class PublishingDefaults(Sent):
    """A complete publishing template."""

    access: PublishingPolicy = Field(default_factory=PublishingPolicy)
    attach_rights: bool = False


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
    show_playing: bool = False
