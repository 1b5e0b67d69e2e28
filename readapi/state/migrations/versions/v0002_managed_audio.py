"""The originals in the private store."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the table of originals."""
    op.create_table(
        "managed_audio",
        sa.Column("track_uri", sa.Text, nullable=False),
        sa.Column("did", sa.Text, nullable=False),
        sa.Column("file_id", sa.Text, nullable=False),
        sa.Column("file_type", sa.Text, nullable=False),
        sa.Column("mime_type", sa.Text, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("duration", sa.Integer),
        sa.Column("rendition_type", sa.Text),
        sa.PrimaryKeyConstraint("track_uri", name="pk_managed_audio"),
    )
    op.create_index("ix_managed_audio_file_id", "managed_audio", ["file_id"])
