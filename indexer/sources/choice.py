"""Which source the settings ask for, and where in it to begin."""

from datetime import UTC, datetime, timedelta
from typing import Final

import aiohttp

from indexer.sources import Source
from indexer.sources.firehose import Firehose
from indexer.sources.jetstream import Jetstream
from indexer.sources.stream import Backoff
from indexer.writer import Writer
from schemas.settings import Settings

# Events bear the time of the server that they began at, and its clock may be wrong.
REWIND: Final = timedelta(minutes=10)


def choose(settings: Settings, session: aiohttp.ClientSession) -> Source:
    """The relay, or the Jetstream that is set in its place."""
    backoff = Backoff().within(settings.retry_seconds)
    if settings.jetstream is None:
        return Firehose(settings.relay, session, start=settings.start, backoff=backoff)
    return Jetstream(
        settings.jetstream,
        session,
        settings.collections.all,
        version=settings.jetstream_version,
        start=settings.start,
        backoff=backoff,
    )


def begin(source: Source, writer: Writer) -> int | None:
    """Its own cursor. A source that is new goes on at the time where another one ended, if it knows times."""
    cursor = writer.cursor(source.name)
    if cursor is not None:
        return cursor
    followed_until = writer.followed_until()
    if followed_until is None:
        return None
    return source.cursor_at(min(followed_until, datetime.now(UTC)) - REWIND)
