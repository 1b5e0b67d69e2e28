"""The files in the audio store, which of them are released, and the store's identity."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

KNOWN = """
    insert into stored_files (key, file_id)
    select 'originals/' || file_id, file_id from managed_audio
    union select 'originals/' || file_id, file_id from revisions
    union select 'originals/' || file_id, file_id from uploads where status in ('pending', 'processing')
    union select 'renditions/' || file_id || '.' || rendition_type, file_id
        from managed_audio where rendition_type is not null
    union select 'incoming/' || id || '/audio', null from uploads where status in ('pending', 'processing')
    union select 'incoming/' || id || '/image', null from uploads where status in ('pending', 'processing')
"""


def upgrade() -> None:
    """Create the tables, with a row for every file in use. Instants are microseconds since 1970."""
    op.create_table(
        "stored_files",
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("file_id", sa.Text),
        sa.Column("released_at", sa.BigInteger),
        sa.Column("delete_at", sa.BigInteger),
        sa.Column("reason", sa.Text),
        sa.Column("track_uri", sa.Text),
        sa.Column("held_as", sa.Text),
        sa.PrimaryKeyConstraint("key", name="pk_stored_files"),
    )
    for column in ("file_id", "delete_at", "track_uri"):
        op.create_index(f"ix_stored_files_{column}", "stored_files", [column])
    op.create_table(
        "audio_store",
        sa.Column("number", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("store_id", sa.Text),
        sa.Column("edition", sa.Text),
        sa.Column("previous_edition", sa.Text),
        sa.Column("restored_at", sa.BigInteger),
        sa.Column("refusal", sa.Text),
        sa.Column("orphans", sa.BigInteger),
        sa.Column("orphan_bytes", sa.BigInteger),
        sa.Column("counted_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("number", name="pk_audio_store"),
    )
    op.execute(KNOWN)
