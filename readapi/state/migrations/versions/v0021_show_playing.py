"""Whether an account shows others what it is listening to: so far all did that had scrobbling on."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Add the column; who has scrobbling on goes on being shown."""
    op.add_column(
        "preferences", sa.Column("show_playing", sa.Boolean, nullable=False, server_default=sa.false())
    )
    op.execute(sa.text("update preferences set show_playing = scrobbling"))
