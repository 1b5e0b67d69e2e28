"""The protocol's limits on records, commits and frames, and how far ahead of our clock a rev may be."""

from datetime import timedelta

# Limits of the protocol: https://atproto.com/specs/sync
MAX_RECORD_BYTES = 1_000_000

MAX_OPERATIONS = 200

MAX_AHEAD = timedelta(minutes=5)  # how far a server's clock may be fast

MAX_FRAME_BYTES = 5_000_000  # a limit of the protocol: https://atproto.com/specs/sync
