"""Notices of infringement. The rows of the log of decisions about them cannot be changed or deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

_SQLITE = [
    f"""
    create trigger notice_decisions_{event} before {event} on notice_decisions
    begin select raise(abort, 'decisions are never changed or deleted'); end
    """
    for event in ("update", "delete")
]
# The function is that of the log of takedowns.
_POSTGRESQL = [
    """
    create trigger notice_decisions_change before update or delete on notice_decisions
    for each row execute function refuse_change_of_decisions()
    """,
    """
    create trigger notice_decisions_truncate before truncate on notice_decisions
    for each statement execute function refuse_change_of_decisions()
    """,
]


def upgrade() -> None:
    """Create the tables and the triggers."""
    op.create_table(
        "notices",
        sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("did", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("contact", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("sent_by", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("changed_at", sa.BigInteger, nullable=False),
        sa.Column("counter_name", sa.Text),
        sa.Column("counter_contact", sa.Text),
        sa.Column("counter_text", sa.Text),
        sa.PrimaryKeyConstraint("number", name="pk_notices"),
    )
    op.create_index("ix_notices_state", "notices", ["state", "number"])
    op.create_table(
        "notice_decisions",
        sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("notice", sa.BigInteger, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("decided_by", sa.Text, nullable=False),
        sa.Column("decided_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_notice_decisions"),
    )
    is_sqlite = op.get_context().dialect.name == "sqlite"
    for statement in _SQLITE if is_sqlite else _POSTGRESQL:
        op.execute(statement)
