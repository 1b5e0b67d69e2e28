"""Instants as answers write them: RFC 3339, UTC, with a Z."""

from datetime import UTC, datetime


def render(instant: datetime) -> str:
    """The instant to the millisecond, such as `2026-01-31T12:00:00.000Z`. Without a timezone it is UTC."""
    aware = instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    return aware.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> datetime:
    """This instant, UTC."""
    return datetime.now(UTC)


def this_minute() -> datetime:
    """The instant at which the current minute began, UTC."""
    return datetime.now(UTC).replace(second=0, microsecond=0)
