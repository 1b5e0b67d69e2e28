"""What accounts and networks do here, by the hour."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "activity_hours",
        sa.Column("hour", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("hour", "kind", "who", name="pk_activity_hours"),
    )
