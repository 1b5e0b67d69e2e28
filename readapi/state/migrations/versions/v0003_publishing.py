"""Preferences, templates of albums, uploads, publishing jobs, and earlier versions of audio."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the tables of publishing. Instants are microseconds since 1970."""
    op.create_table(
        "preferences",
        sa.Column("did", sa.Text, nullable=False),
        sa.Column("publishing_defaults", sa.Text),
        sa.Column("scrobbling", sa.Boolean, nullable=False),
        sa.Column("rights", sa.Text),
        sa.PrimaryKeyConstraint("did", name="pk_preferences"),
    )
    op.create_table(
        "album_templates",
        sa.Column("album_uri", sa.Text, nullable=False),
        sa.Column("template", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("album_uri", name="pk_album_templates"),
    )
    _create_uploads()
    _create_jobs()
    _create_revisions()


def _create_uploads() -> None:
    op.create_table(
        "uploads",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("did", sa.Text, nullable=False),
        sa.Column("grant_id", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("track_uri", sa.Text, nullable=False),
        sa.Column("file_id", sa.Text, nullable=False),
        sa.Column("wanted", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("progress_pct", sa.Integer, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("completed_at", sa.BigInteger),
        sa.Column("claimed_by", sa.Text),
        sa.Column("claimed_until", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_uploads"),
    )
    op.create_index("ix_uploads_status", "uploads", ["status", "created_at"])


def _create_jobs() -> None:
    op.create_table(
        "publishing_jobs",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("did", sa.Text, nullable=False),
        sa.Column("grant_id", sa.Text, nullable=False),
        sa.Column("album_uri", sa.Text),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("origin", sa.Text, nullable=False),
        sa.Column("replace_overrides", sa.Boolean, nullable=False),
        sa.Column("narrows", sa.Boolean, nullable=False),
        sa.Column("idempotency_key", sa.Text),
        sa.Column("request_hash", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("message", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("completed_at", sa.BigInteger),
        sa.Column("claimed_by", sa.Text),
        sa.Column("claimed_until", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_publishing_jobs"),
    )
    op.create_index("ix_publishing_jobs_status", "publishing_jobs", ["status", "created_at"])
    op.create_index(
        "ix_publishing_jobs_idempotency_key", "publishing_jobs", ["did", "idempotency_key"], unique=True
    )
    op.create_table(
        "publishing_job_tracks",
        sa.Column("job_id", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("track_uri", sa.Text, nullable=False),
        sa.Column("track_id", sa.BigInteger, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("message", sa.Text),
        sa.PrimaryKeyConstraint("job_id", "position", name="pk_publishing_job_tracks"),
        sa.ForeignKeyConstraint(
            ["job_id"], ["publishing_jobs.id"], name="fk_publishing_job_tracks_job_id", ondelete="CASCADE"
        ),
    )


def _create_revisions() -> None:
    op.create_table(
        "revisions",
        sa.Column("id", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("track_uri", sa.Text, nullable=False),
        sa.Column("file_id", sa.Text, nullable=False),
        sa.Column("file_type", sa.Text, nullable=False),
        sa.Column("mime_type", sa.Text, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("duration", sa.Integer),
        sa.Column("audio_storage", sa.Text, nullable=False),
        sa.Column("access", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_revisions"),
    )
    op.create_index("ix_revisions_track_uri", "revisions", ["track_uri", "id"])
    op.create_index("ix_revisions_file_id", "revisions", ["file_id"])
