"""Since when originals are held, and when their tracks' records were last reconciled."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column and the table. Instants are microseconds since 1970; existing rows get an early one."""
    op.add_column("managed_audio", sa.Column("held_since", sa.BigInteger, nullable=False, server_default="0"))
    op.create_table(
        "kept_tracks",
        sa.Column("track_uri", sa.Text, nullable=False),
        sa.Column("asked_at", sa.BigInteger, nullable=False),
        sa.Column("finding", sa.Text),
        sa.Column("found_since", sa.BigInteger),
        sa.PrimaryKeyConstraint("track_uri", name="pk_kept_tracks"),
    )
