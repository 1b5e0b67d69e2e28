"""A cache of recent look-ups, so that not every request queries the database."""

from collections.abc import Hashable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from readapi.state.db.database import Database

Found = TypeVar("Found")

LIFE = timedelta(seconds=1)  # how stale an entry may be after another process has written
MOST = 20_000


class ReadCache(Generic[Found]):
    """Entries are valid for a second, and until this process writes to the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._found: dict[Hashable, tuple[Found, int, datetime, datetime]] = {}

    def recall(self, key: Hashable) -> Found | None:
        """The cached value of a key, if still valid."""
        remembered = self._found.get(key)
        if remembered is None:
            return None
        found, writes, since, until = remembered
        is_sure = writes == self._database.writes and since <= self._database.now() < until
        return found if is_sure else None

    def knows(self, key: Hashable) -> bool:
        """Did the last look-up of this key find a value, however long ago?"""
        return key in self._found

    def keep(self, key: Hashable, found: Found, writes: int, at: datetime) -> None:
        """Cache a value; `writes` and `at` are from before the query."""
        if len(self._found) >= MOST:
            self._found.clear()
        self._found[key] = found, writes, at, at + LIFE

    def forget(self, key: Hashable) -> None:
        """Remove a key."""
        self._found.pop(key, None)
