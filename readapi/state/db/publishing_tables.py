"""The state database's tables of publishing: uploads, jobs, templates, revisions, stored files."""

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text, false

from readapi.state.db.tables import Instant, metadata

__all__ = ["metadata"]  # with these tables in it


def _claim() -> list[Column[Any]]:
    """The columns of a claim: its holder and expiry, and the number and begin of attempts."""
    claimed: list[Column[Any]] = [Column("claimed_by", Text), Column("claimed_until", Instant)]
    tries = Column("tries", Integer, nullable=False, server_default="0")
    return [*claimed, tries, Column("tried_since", Instant)]


preferences = Table(
    "preferences",
    metadata,
    Column("did", Text, primary_key=True),
    Column("publishing_defaults", Text),
    Column("scrobbling", Boolean, nullable=False),
    Column("rights", Text),
    Column("show_adult", Boolean, nullable=False, server_default=false()),
    Column("show_playing", Boolean, nullable=False, server_default=false()),
)

album_templates = Table(
    "album_templates",
    metadata,
    Column("album_uri", Text, primary_key=True),
    Column("template", Text, nullable=False),
)

# `wanted` is JSON. `version` counts changes: it is the event id of the progress stream.
uploads = Table(
    "uploads",
    metadata,
    Column("id", Text, primary_key=True),
    Column("did", Text, nullable=False),
    Column("grant_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("track_uri", Text, nullable=False),
    Column("file_id", Text, nullable=False),
    Column("wanted", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("progress_pct", Integer, nullable=False),
    Column("message", Text, nullable=False),
    Column("error", Text),
    Column("version", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("completed_at", Instant),
    *_claim(),
    Index("ix_uploads_status", "status", "created_at"),
    Index("ix_uploads_did", "did", "claimed_until"),
)

jobs = Table(
    "publishing_jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("did", Text, nullable=False),
    Column("grant_id", Text, nullable=False),
    Column("album_uri", Text),
    Column("settings", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("replace_overrides", Boolean, nullable=False),
    Column("narrows", Boolean, nullable=False),
    Column("idempotency_key", Text),
    Column("request_hash", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("message", Text),
    Column("created_at", Instant, nullable=False),
    Column("completed_at", Instant),
    *_claim(),
    Index("ix_publishing_jobs_status", "status", "created_at"),
    Index("ix_publishing_jobs_did", "did", "claimed_until"),
    Index("ix_publishing_jobs_idempotency_key", "did", "idempotency_key", unique=True),
)

# `outcome`: preserved from the start, or pending, then updated or failed with a reason and a sentence.
job_tracks = Table(
    "publishing_job_tracks",
    metadata,
    Column("job_id", Text, ForeignKey("publishing_jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("track_uri", Text, nullable=False),
    Column("track_id", BigInteger, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("reason", Text),
    Column("message", Text),
)

# `file_id` names the copy in the private store; `access` is the snapshot that the version was published with.
revisions = Table(
    "revisions",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("track_uri", Text, nullable=False),
    Column("file_id", Text, nullable=False),
    Column("file_type", Text, nullable=False),
    Column("mime_type", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("duration", Integer),
    Column("audio_storage", Text, nullable=False),
    Column("access", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Index("ix_revisions_track_uri", "track_uri", "id"),
    Index("ix_revisions_file_id", "file_id"),
)

# `finding`: how the record differs from the stored files, at each look since `found_since`.
kept_tracks = Table(
    "kept_tracks",
    metadata,
    Column("track_uri", Text, primary_key=True),
    Column("asked_at", Instant, nullable=False),
    Column("finding", Text),
    Column("found_since", Instant),
)

# Every file that this service put into the audio store. `released_at`: since when nothing needs it;
# `delete_at`: when it may be deleted; `held_as`: its role for `track_uri`, as JSON, to restore it.
stored_files = Table(
    "stored_files",
    metadata,
    Column("key", Text, primary_key=True),
    Column("file_id", Text),
    Column("released_at", Instant),
    Column("delete_at", Instant),
    Column("reason", Text),
    Column("track_uri", Text),
    Column("held_as", Text),
    Index("ix_stored_files_file_id", "file_id"),
    Index("ix_stored_files_delete_at", "delete_at"),
    Index("ix_stored_files_track_uri", "track_uri"),
)

# `held_as`: the file's role for the track, as JSON; until `delete_at` the track can have it back.
retentions = Table(
    "retentions",
    metadata,
    Column("file_id", Text, primary_key=True),
    Column("track_uri", Text, primary_key=True),
    Column("kept_until", Instant, nullable=False),
    Column("reason", Text, nullable=False),
    Column("held_as", Text),
    Index("ix_retentions_track_uri", "track_uri"),
    Index("ix_retentions_kept_until", "kept_until"),
)

# One row: which audio store this database belongs to, and its state.
audio_store = Table(
    "audio_store",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("store_id", Text),
    Column("edition", Text),
    Column("previous_edition", Text),
    Column("restored_at", Instant),
    Column("refusal", Text),
    Column("orphans", BigInteger),
    Column("orphan_bytes", BigInteger),
    Column("counted_at", Instant),
)
