"""Whether an account's pages show what is for adults."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add the column; no account has chosen so."""
    op.add_column(
        "preferences", sa.Column("show_adult", sa.Boolean, nullable=False, server_default=sa.false())
    )
