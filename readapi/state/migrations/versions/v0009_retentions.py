"""How long a file is kept for each track that released it."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

PROMISED = """
    insert into retentions (file_id, track_uri, kept_until, reason, held_as)
    select file_id, track_uri, delete_at, reason, held_as from stored_files
    where key like 'originals/%' and track_uri is not null and reason <> 'deleted'
"""


def upgrade() -> None:
    """Create the table, with the retentions of the files now in the trash."""
    op.create_table(
        "retentions",
        sa.Column("file_id", sa.Text, nullable=False),
        sa.Column("track_uri", sa.Text, nullable=False),
        sa.Column("kept_until", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("held_as", sa.Text),
        sa.PrimaryKeyConstraint("file_id", "track_uri", name="pk_retentions"),
    )
    for column in ("track_uri", "kept_until"):
        op.create_index(f"ix_retentions_{column}", "retentions", [column])
    op.execute(PROMISED)
