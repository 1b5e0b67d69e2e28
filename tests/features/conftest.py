"""What the tests of features share with those of the two programs."""

from tests.indexer.conftest import forged_network, impatient_settings, indexer_settings, writer
from tests.readapi.audio.conftest import kept_in
from tests.readapi.conftest import clock, music, s3, state, studio
from tests.sounds import named_song, other_song, song

__all__ = [
    "clock",
    "forged_network",
    "impatient_settings",
    "indexer_settings",
    "kept_in",
    "music",
    "named_song",
    "other_song",
    "s3",
    "song",
    "state",
    "studio",
    "writer",
]
