"""The log of the operator's labels. Its rows cannot be changed or deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

_SQLITE = [
    f"""
    create trigger label_decisions_{event} before {event} on label_decisions
    begin select raise(abort, 'decisions are never changed or deleted'); end
    """
    for event in ("update", "delete")
]
# The function is that of the log of takedowns.
_POSTGRESQL = [
    """
    create trigger label_decisions_change before update or delete on label_decisions
    for each row execute function refuse_change_of_decisions()
    """,
    """
    create trigger label_decisions_truncate before truncate on label_decisions
    for each statement execute function refuse_change_of_decisions()
    """,
]


def upgrade() -> None:
    """Create the table and its triggers."""
    op.create_table(
        "label_decisions",
        sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("negated", sa.Boolean, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("decided_by", sa.Text, nullable=False),
        sa.Column("decided_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_label_decisions"),
    )
    op.create_index("ix_label_decisions_subject", "label_decisions", ["subject", "value", "number"])
    is_sqlite = op.get_context().dialect.name == "sqlite"
    for statement in _SQLITE if is_sqlite else _POSTGRESQL:
        op.execute(statement)
