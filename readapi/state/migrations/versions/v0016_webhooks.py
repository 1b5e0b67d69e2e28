"""Webhooks of developer tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("token_id", sa.Text, nullable=False),
        sa.Column("did", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("wanted", sa.Text, nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("sealed_with", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("log", sa.Text, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("sending_to", sa.BigInteger, nullable=False),
        sa.Column("delivered_at", sa.BigInteger),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("failing_since", sa.BigInteger),
        sa.Column("next_attempt_at", sa.BigInteger),
        sa.Column("last_error", sa.Text),
        sa.Column("paused_because", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
        sa.ForeignKeyConstraint(
            ["token_id"], ["developer_tokens.id"], name="fk_webhooks_token_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_webhooks_token_id", "webhooks", ["token_id"])
    op.create_index("ix_webhooks_did", "webhooks", ["did"])
