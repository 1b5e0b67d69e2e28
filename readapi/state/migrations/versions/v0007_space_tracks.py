"""The addresses of tracks in private Spaces."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "space_tracks",
        sa.Column("id", sa.BigInteger, nullable=False),
        sa.Column("did", sa.Text, nullable=False),
        sa.Column("uri", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_space_tracks"),
    )
    op.create_index("ix_space_tracks_did", "space_tracks", ["did"])
