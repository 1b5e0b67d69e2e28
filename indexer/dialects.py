"""Which decoder frames want: told by the name of the source that they came from."""

from collections.abc import Container

from indexer import envelope, faults, jetstream_events
from indexer.decode import decode, malformed
from indexer.events import Decode, Event, Frame, Malformed
from indexer.jetstream_events import decode_json
from schemas.ids import Did, Nsid

# A Jetstream's name ends in one of these; a relay's is its bare origin.
JETSTREAM_PATHS = ("/subscribe", "/xrpc/network.bsky.jetstream.subscribeEvents")


def decoder(source: str) -> Decode:
    """Never guessed from the bytes: a relay must not get records past us without proof."""
    return decode_json if source.endswith(JETSTREAM_PATHS) else decode


def understood(
    decode: Decode, frame: Frame, collections: frozenset[Nsid], tracked: Container[Did]
) -> tuple[Event, ...]:
    """What a frame means. One that the decoder breaks on is malformed: it must not end the process."""
    try:
        return decode(frame.raw, collections, tracked, frame.received_at)
    except BaseException as error:
        if faults.is_fatal(error):
            raise
        return (salvaged(frame.source, frame.raw, faults.reason("decode", error)),)


def salvaged(source: str, raw: bytes, reason: str) -> Malformed:
    """What can be told of a frame that was not understood: its number and account, if they can be read."""
    unwrap = jetstream_events.unwrap if source.endswith(JETSTREAM_PATHS) else envelope.unwrap
    try:
        _, body = unwrap(raw)
    except BaseException as error:
        if faults.is_fatal(error):
            raise
        return malformed(raw, None, reason)
    return malformed(raw, body, reason)
