"""Chooses the source by the settings: the relay's firehose, or a Jetstream."""

from indexer.network.websockets import WebSocketClient
from indexer.stream import Source
from indexer.stream.firehose import Firehose
from indexer.stream.jetstream import Jetstream
from schemas.backoff import Backoff
from schemas.ids import Nsid
from schemas.settings import Settings


def choose_source(settings: Settings, collections: frozenset[Nsid]) -> Source:
    """The relay, or the Jetstream that is set in its place, which is asked for these collections."""
    client, backoff = WebSocketClient(), Backoff().within(settings.retry_seconds)
    if settings.jetstream is None:
        return Firehose(settings.relay, client, start=settings.start, backoff=backoff)
    return Jetstream(
        settings.jetstream,
        client,
        collections,
        version=settings.jetstream_version,
        start=settings.start,
        backoff=backoff,
    )
