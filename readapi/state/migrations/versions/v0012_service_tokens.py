"""Service tokens that were used, until they expire."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "service_tokens",
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_service_tokens"),
    )
    op.create_index("ix_service_tokens_expires_at", "service_tokens", ["expires_at"])
