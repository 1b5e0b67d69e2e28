"""What lets somebody have a recording that its server does not give to everybody."""

from typing import Protocol

from readapi.errors import ApiError
from schemas.ids import Cid, Did


class Entry(Protocol):
    """Somebody's, to what `name` stands for: whoever else has one to it gets the same recording."""

    @property
    def name(self) -> str: ...

    def request(self, server: str, did: Did, cid: Cid) -> tuple[str, dict[str, str]]:
        """Where to ask the server for it, and with which headers."""

    def refused(self) -> ApiError:
        """What to raise when the server does not give it."""
