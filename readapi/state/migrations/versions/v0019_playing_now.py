"""What accounts are listening to now."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "playing_now",
        sa.Column("did", sa.Text, nullable=False),
        sa.Column("handle", sa.Text, nullable=False),
        sa.Column("track_uri", sa.Text),
        sa.Column("listen", sa.Text, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("ends_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("did", name="pk_playing_now"),
    )
    op.create_index("ix_playing_now_ends_at", "playing_now", ["ends_at"])
