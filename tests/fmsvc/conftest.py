"""The whole service with a real PDS, as the API's tests open it."""

from tests.readapi.conftest import other_song, song, studio

__all__ = ["other_song", "song", "studio"]
