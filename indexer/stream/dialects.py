"""Chooses the decoder of a source's frames, by the source's name, and decodes without ever raising."""

from collections.abc import Container

from indexer import faults
from indexer.events import Decode, Event, Frame, Malformed
from indexer.stream import decode_jetstream, envelope
from indexer.stream.decode import decode_frame, malformed_event
from indexer.stream.decode_jetstream import decode_json
from schemas.ids import Did, Nsid

# A Jetstream's name ends in one of these; a relay's is its bare origin.
JETSTREAM_PATHS = ("/subscribe", "/xrpc/network.bsky.jetstream.subscribeEvents")


def decoder_of(source: str) -> Decode:
    """The source's decoder. Never guessed from the bytes: a relay could pass off records without proof."""
    return decode_json if source.endswith(JETSTREAM_PATHS) else decode_frame


def decode_safely(
    decode: Decode, frame: Frame, collections: frozenset[Nsid], tracked: Container[Did]
) -> tuple[Event, ...]:
    """Decode a frame. One that makes the decoder raise becomes Malformed: it must not end the process."""
    try:
        return decode(frame.raw, collections, tracked, frame.received_at)
    except BaseException as error:
        if faults.is_fatal(error):
            raise
        return (salvage_frame(frame.source, frame.raw, faults.record_fault("decode", error)),)


def salvage_frame(source: str, raw: bytes, reason: str) -> Malformed:
    """Make Malformed of a frame that could not be processed, with its sequence number and DID if readable."""
    unwrap = decode_jetstream.unwrap_message if source.endswith(JETSTREAM_PATHS) else envelope.unwrap_frame
    try:
        _, body = unwrap(raw)
    except BaseException as error:
        if faults.is_fatal(error):
            raise
        return malformed_event(raw, None, reason)
    return malformed_event(raw, body, reason)
