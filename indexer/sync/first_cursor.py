"""The cursor at which a source is followed first, by what the catalogue has of it or of another source."""

from datetime import UTC, datetime, timedelta
from typing import Final

from indexer.catalog.writing.writer import Writer
from indexer.stream import Source

# Events carry the time of the server that sent them, and its clock may be wrong.
REWIND: Final = timedelta(minutes=10)


def choose_cursor(source: Source, writer: Writer) -> int | None:
    """The source's own cursor, else the end of the source before it; None for a new catalogue."""
    cursor = writer.cursor(source.name)
    if cursor is not None:
        return cursor
    followed_until = writer.followed_until()
    if followed_until is None:
        return None
    return source.cursor_at(min(followed_until, datetime.now(UTC)) - REWIND)
