"""Play counts, and the visibility of profile sections."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the tables. Instants are microseconds since 1970."""
    op.create_table(
        "listens",
        sa.Column("track_uri", sa.Text, nullable=False),
        sa.Column("listener", sa.LargeBinary, nullable=False),
        sa.Column("counted_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("track_uri", "listener", name="pk_listens"),
    )
    op.create_index("ix_listens_counted_at", "listens", ["counted_at"])
    op.create_table(
        "play_counts",
        sa.Column("track_uri", sa.Text, nullable=False),
        sa.Column("plays", sa.BigInteger, nullable=False),
        sa.Column("counted_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("track_uri", name="pk_play_counts"),
    )
    op.create_index("ix_play_counts_counted_at", "play_counts", ["counted_at"])
    op.create_table(
        "shown_on_profile",
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("shown", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("subject", name="pk_shown_on_profile"),
    )
