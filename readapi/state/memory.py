"""What was found a moment ago, so that not every request asks the database."""

from collections.abc import Hashable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from readapi.state.database import Database

Found = TypeVar("Found")

LIFE = timedelta(seconds=1)  # how long this process may not know what another has written
MOST = 20_000


class Memory(Generic[Found]):
    """Good for a second, and until this process writes anything."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._found: dict[Hashable, tuple[Found, int, datetime, datetime]] = {}

    def recall(self, key: Hashable) -> Found | None:
        """What was found under this key, if that is still sure enough."""
        remembered = self._found.get(key)
        if remembered is None:
            return None
        found, writes, since, until = remembered
        is_sure = writes == self._database.writes and since <= self._database.now() < until
        return found if is_sure else None

    def knows(self, key: Hashable) -> bool:
        """Was something found under this key when it was last looked for, however long ago?"""
        return key in self._found

    def keep(self, key: Hashable, found: Found, writes: int, at: datetime) -> None:
        """Remember it; `writes` and `at` are from before the database was asked."""
        if len(self._found) >= MOST:
            self._found.clear()
        self._found[key] = found, writes, at, at + LIFE

    def forget(self, key: Hashable) -> None:
        """There is nothing under this key any more."""
        self._found.pop(key, None)
