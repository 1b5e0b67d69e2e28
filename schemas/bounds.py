"""Limits on the duration and sizes that a record may state."""

MAX_SECONDS = 7 * 24 * 3600  # of a recording
MAX_AUDIO_BYTES = 100 << 20
MAX_IMAGE_BYTES = 10 << 20
