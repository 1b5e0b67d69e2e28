"""How long and how large a record may say that its recording and its picture are."""

MAX_SECONDS = 7 * 24 * 3600  # of a recording
MAX_AUDIO_BYTES = 100 << 20
MAX_IMAGE_BYTES = 10 << 20
