"""Reports of accounts and records to the operator."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "reports",
        sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("subject_cid", sa.Text),
        sa.Column("reason_type", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("reported_by", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("closed_at", sa.BigInteger),
        sa.Column("closed_by", sa.Text),
        sa.Column("note", sa.Text),
        sa.PrimaryKeyConstraint("number", name="pk_reports"),
    )
    op.create_index("ix_reports_open", "reports", ["closed_at", "reported_by"])
