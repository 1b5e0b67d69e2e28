"""The state database is away: one error for all that its drivers raise when it cannot be reached."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

# Of PostgreSQL: connection exceptions, shutdowns and other interventions, and too many clients.
_AWAY: Final = ("08", "57P", "53300")
_SQLITE_AWAY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class DatabaseAway(SQLAlchemyError):
    """The database cannot be used at the moment; a later try may succeed. The message is for the log."""


class LockLost(DatabaseAway):
    """The lock that was held has ended with its connection, and another process may hold it."""


@contextmanager
def asking() -> Iterator[None]:
    """Raise DatabaseAway if the database cannot be reached. Other errors, which stay, are raised as they are.

    For what only the driver does, a connect or a statement: OSErrors, among them TimeoutError, are the
    database's here.
    """
    try:
        yield
    except Exception as error:  # asyncpg's own errors too, which have no common class with the others
        if _is_away(error):
            raise DatabaseAway(str(error) or type(error).__name__) from error
        raise


def _is_away(error: Exception) -> bool:
    if isinstance(error, OSError | PoolTimeout):
        return True
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in _SQLITE_AWAY
    return (getattr(cause, "sqlstate", None) or "").startswith(_AWAY)
