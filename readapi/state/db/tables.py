"""The state database's tables, the same on SQLite and on PostgreSQL."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Instant(TypeDecorator[datetime]):
    """A moment as microseconds since 1970: SQLite has no time zones, and numbers compare alike everywhere."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """As stored."""
        return None if value is None else (value - _EPOCH) // _MICROSECOND

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """As Python code uses it."""
        return None if value is None else _EPOCH + value * _MICROSECOND


# Constraints have names, so that later migrations can refer to them.
metadata = MetaData(
    naming_convention={"pk": "pk_%(table_name)s", "fk": "fk_%(table_name)s_%(column_0_name)s"},
)

# `sealed` is encrypted, and null once the grant has ended.
# `ended_at`: when it ended, or since when it is unused while its server could not be reached to revoke it.
grants = Table(
    "grants",
    metadata,
    Column("id", Text, primary_key=True),
    Column("did", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("sealed", LargeBinary),
    Column("sealed_with", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("refreshed_at", Instant, nullable=False),
    Column("ended_at", Instant),
    Column("ended_because", Text),
)

# `key` is the hash of the session id.
sessions = Table(
    "sessions",
    metadata,
    Column("key", LargeBinary, primary_key=True),
    Column("active_did", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("renewed_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Index("ix_sessions_expires_at", "expires_at"),
)

accounts = Table(
    "accounts",
    metadata,
    Column("session_key", LargeBinary, ForeignKey("sessions.key", ondelete="CASCADE"), primary_key=True),
    Column("did", Text, primary_key=True),
    Column("handle", Text, nullable=False),
    Column("grant_id", Text, ForeignKey("grants.id"), nullable=False),
    Column("linked_at", Instant, nullable=False),
    Index("ix_accounts_grant_id", "grant_id"),
)

developer_tokens = Table(
    "developer_tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("key", LargeBinary, nullable=False),
    Column("prefix", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("did", Text, nullable=False),
    Column("handle", Text, nullable=False),
    Column("grant_id", Text, ForeignKey("grants.id"), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("last_used_at", Instant),
    Index("ix_developer_tokens_key", "key", unique=True),
    Index("ix_developer_tokens_did", "did"),
    Index("ix_developer_tokens_grant_id", "grant_id"),
)

# Each is its developer token's, and ends with it. `wanted` is JSON. `sealed`: the secrets, encrypted.
# Everything up to `position` of the change log `log` was delivered; the next delivery ends at `sending_to`.
webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("token_id", Text, ForeignKey("developer_tokens.id", ondelete="CASCADE"), nullable=False),
    Column("did", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("wanted", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("sealed_with", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("log", Text, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("sending_to", BigInteger, nullable=False),
    Column("delivered_at", Instant),
    Column("failures", Integer, nullable=False),
    Column("failing_since", Instant),
    Column("next_attempt_at", Instant),
    Column("last_error", Text),
    Column("paused_because", Text),
    Index("ix_webhooks_token_id", "token_id"),
    Index("ix_webhooks_did", "did"),
)

flights = Table(
    "flights",
    metadata,
    Column("key", LargeBinary, primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Index("ix_flights_expires_at", "expires_at"),
)

exchanges = Table(
    "exchanges",
    metadata,
    Column("key", LargeBinary, primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Index("ix_exchanges_expires_at", "expires_at"),
)

# Service tokens that were used, by the hash of account and token id.
service_tokens = Table(
    "service_tokens",
    metadata,
    Column("key", LargeBinary, primary_key=True),
    Column("expires_at", Instant, nullable=False),
    Index("ix_service_tokens_expires_at", "expires_at"),
)

# The operator's takedowns, and their ends: a log that nothing changes, which triggers see to.
# `action`: takedown, restore. `subject`: see schemas.takedowns, by which other processes read the table.
takedown_decisions = Table(
    "takedown_decisions",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("subject", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("decided_by", Text, nullable=False),
    Column("decided_at", Instant, nullable=False),
    Index("ix_takedown_decisions_subject", "subject", "number"),
)

# The log of the operator's labels: triggers of the migration refuse to change or delete a row. The last
# decision about a subject and a value holds.
label_decisions = Table(
    "label_decisions",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("subject", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("negated", Boolean, nullable=False),
    Column("expires_at", Instant),
    Column("reason", Text, nullable=False),
    Column("decided_by", Text, nullable=False),
    Column("decided_at", Instant, nullable=False),
    Index("ix_label_decisions_subject", "subject", "value", "number"),
)

# Reports to the operator. `closed_at` is null while a report is open.
reports = Table(
    "reports",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("subject", Text, nullable=False),
    Column("subject_cid", Text),
    Column("reason_type", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("reported_by", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("closed_at", Instant),
    Column("closed_by", Text),
    Column("note", Text),
    Index("ix_reports_open", "closed_at", "reported_by"),
)

# Notices of infringement. `counter_*` is null until the account that one concerns has answered it.
notices = Table(
    "notices",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("subject", Text, nullable=False),
    Column("did", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("contact", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("sent_by", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("changed_at", Instant, nullable=False),
    Column("counter_name", Text),
    Column("counter_contact", Text),
    Column("counter_text", Text),
    Index("ix_notices_state", "state", "number"),
)

# The log of decisions about notices: triggers of the migration refuse to change or delete a row.
notice_decisions = Table(
    "notice_decisions",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("notice", BigInteger, nullable=False),
    Column("subject", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("decided_by", Text, nullable=False),
    Column("decided_at", Instant, nullable=False),
)

# Recent plays, kept while a repetition by the same listener does not count. `listener` is a keyed hash.
# `previous_at`: the listener's counted play of this track before that one; null when none was known.
listens = Table(
    "listens",
    metadata,
    Column("track_uri", Text, primary_key=True),
    Column("listener", LargeBinary, primary_key=True),
    Column("counted_at", Instant, nullable=False),
    Column("previous_at", Instant),
    Index("ix_listens_counted_at", "counted_at"),
)

# Also read by the indexer, with schemas/play_counts.py, which relies on these names.
play_counts = Table(
    "play_counts",
    metadata,
    Column("track_uri", Text, primary_key=True),
    Column("plays", BigInteger, nullable=False),
    Column("counted_at", Instant, nullable=False),
    Index("ix_play_counts_counted_at", "counted_at"),
)

# Plays by the hour, which `hour` is the beginning of. No row says who listened. Also read by the indexer.
play_hours = Table(
    "play_hours",
    metadata,
    Column("track_uri", Text, primary_key=True),
    Column("hour", Instant, primary_key=True),
    Column("plays", BigInteger, nullable=False),
    Column("listeners", BigInteger, nullable=False),
    Index("ix_play_hours_hour", "hour"),
    sqlite_with_rowid=False,
)

# `subject` is the at-uri of the playlist or profile that its owner shows or hides.
shown_on_profile = Table(
    "shown_on_profile",
    metadata,
    Column("subject", Text, primary_key=True),
    Column("shown", Boolean, nullable=False),
)

# Likes, comments and plays at this service by the hour. `who` is a DID, or a network by a keyed hash.
activity_hours = Table(
    "activity_hours",
    metadata,
    Column("hour", Instant, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("who", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
)

# What accounts are listening to now. `listen` is ListenBrainz's JSON.
playing_now = Table(
    "playing_now",
    metadata,
    Column("did", Text, primary_key=True),
    Column("handle", Text, nullable=False),
    Column("track_uri", Text),
    Column("listen", Text, nullable=False),
    Column("started_at", Instant, nullable=False),
    Column("ends_at", Instant, nullable=False),
    Index("ix_playing_now_ends_at", "ends_at"),
)

# The address of each track in a private Space, by its public id.
space_tracks = Table(
    "space_tracks",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("did", Text, nullable=False),
    Column("uri", Text, nullable=False),
    Index("ix_space_tracks_did", "did"),
)

# The original in the audio store of each track; when that was last set.
managed_audio = Table(
    "managed_audio",
    metadata,
    Column("track_uri", Text, primary_key=True),
    Column("did", Text, nullable=False),
    Column("file_id", Text, nullable=False),
    Column("file_type", Text, nullable=False),
    Column("mime_type", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("duration", Integer),
    Column("rendition_type", Text),
    Column("held_since", Instant, nullable=False, server_default="0"),
    Index("ix_managed_audio_file_id", "file_id"),
)
