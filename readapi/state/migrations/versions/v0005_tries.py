"""The attempts at uploads and jobs, and indexes by account."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Extend the tables with claimed rows. Instants are microseconds since 1970."""
    for table in ("uploads", "publishing_jobs"):
        op.add_column(table, sa.Column("tries", sa.Integer, nullable=False, server_default="0"))
        op.add_column(table, sa.Column("tried_since", sa.BigInteger))
        op.create_index(f"ix_{table}_did", table, ["did", "claimed_until"])
