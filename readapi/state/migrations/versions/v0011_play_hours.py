"""Plays by the hour."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Create the table. It begins empty: earlier plays are known as totals only."""
    op.add_column("listens", sa.Column("previous_at", sa.BigInteger))
    op.create_table(
        "play_hours",
        sa.Column("track_uri", sa.Text, nullable=False),
        sa.Column("hour", sa.BigInteger, nullable=False),
        sa.Column("plays", sa.BigInteger, nullable=False),
        sa.Column("listeners", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("track_uri", "hour", name="pk_play_hours"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_play_hours_hour", "play_hours", ["hour"])
