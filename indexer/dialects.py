"""Which decoder frames want: told by the name of the source that they came from. Pure."""

from indexer.decode import decode
from indexer.events import Decode
from indexer.jetstream_events import decode_json

# A Jetstream's name ends in one of these; a relay's is its bare origin.
JETSTREAM_PATHS = ("/subscribe", "/xrpc/network.bsky.jetstream.subscribeEvents")


def decoder(source: str) -> Decode:
    """Never guessed from the bytes: a relay must not get records past us without proof."""
    return decode_json if source.endswith(JETSTREAM_PATHS) else decode
