"""Grants, sessions, accounts, developer tokens, and one-time values of sign-ins."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the first tables. Instants are microseconds since 1970."""
    op.create_table(
        "grants",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("did", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("sealed", sa.LargeBinary),
        sa.Column("sealed_with", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("refreshed_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("ended_because", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_grants"),
    )
    op.create_table(
        "sessions",
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("active_did", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("renewed_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_sessions"),
    )
    op.create_index("ix_sessions_expires_at", "sessions", ["expires_at"])
    _create_accounts()
    _create_developer_tokens()
    for passing in ("flights", "exchanges"):
        op.create_table(
            passing,
            sa.Column("key", sa.LargeBinary, nullable=False),
            sa.Column("sealed", sa.LargeBinary, nullable=False),
            sa.Column("expires_at", sa.BigInteger, nullable=False),
            sa.PrimaryKeyConstraint("key", name=f"pk_{passing}"),
        )
        op.create_index(f"ix_{passing}_expires_at", passing, ["expires_at"])


def _create_accounts() -> None:
    op.create_table(
        "accounts",
        sa.Column("session_key", sa.LargeBinary, nullable=False),
        sa.Column("did", sa.Text, nullable=False),
        sa.Column("handle", sa.Text, nullable=False),
        sa.Column("grant_id", sa.Text, nullable=False),
        sa.Column("linked_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("session_key", "did", name="pk_accounts"),
        sa.ForeignKeyConstraint(
            ["session_key"], ["sessions.key"], name="fk_accounts_session_key", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["grant_id"], ["grants.id"], name="fk_accounts_grant_id"),
    )
    op.create_index("ix_accounts_grant_id", "accounts", ["grant_id"])


def _create_developer_tokens() -> None:
    op.create_table(
        "developer_tokens",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("prefix", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("did", sa.Text, nullable=False),
        sa.Column("handle", sa.Text, nullable=False),
        sa.Column("grant_id", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("last_used_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_developer_tokens"),
        sa.ForeignKeyConstraint(["grant_id"], ["grants.id"], name="fk_developer_tokens_grant_id"),
    )
    op.create_index("ix_developer_tokens_key", "developer_tokens", ["key"], unique=True)
    op.create_index("ix_developer_tokens_did", "developer_tokens", ["did"])
    op.create_index("ix_developer_tokens_grant_id", "developer_tokens", ["grant_id"])
