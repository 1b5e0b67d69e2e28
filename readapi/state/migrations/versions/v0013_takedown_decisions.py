"""The log of takedowns. Its rows cannot be changed or deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

REFUSAL = "decisions are never changed or deleted"
_SQLITE = [
    f"""
    create trigger takedown_decisions_{event} before {event} on takedown_decisions
    begin select raise(abort, '{REFUSAL}'); end
    """
    for event in ("update", "delete")
]
_POSTGRESQL = [
    f"""
    create function refuse_change_of_decisions() returns trigger language plpgsql as
    $$ begin raise exception '{REFUSAL}'; end $$
    """,
    """
    create trigger takedown_decisions_change before update or delete on takedown_decisions
    for each row execute function refuse_change_of_decisions()
    """,
    """
    create trigger takedown_decisions_truncate before truncate on takedown_decisions
    for each statement execute function refuse_change_of_decisions()
    """,
]


def upgrade() -> None:
    """Create the table and its triggers."""
    op.create_table(
        "takedown_decisions",
        sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("decided_by", sa.Text, nullable=False),
        sa.Column("decided_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_takedown_decisions"),
    )
    op.create_index("ix_takedown_decisions_subject", "takedown_decisions", ["subject", "number"])
    is_sqlite = op.get_context().dialect.name == "sqlite"
    for statement in _SQLITE if is_sqlite else _POSTGRESQL:
        op.execute(statement)
