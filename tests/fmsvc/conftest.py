"""The whole service with a real PDS, as the API's tests open it."""

from tests.readapi.conftest import song, studio

__all__ = ["song", "studio"]
