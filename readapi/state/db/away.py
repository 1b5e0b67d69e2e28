"""The state database is away: one error for all that its drivers raise when it cannot be reached."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

# Of PostgreSQL: connection exceptions, and the operator's interventions, such as a shutdown.
_AWAY: Final = ("08", "57P")


class DatabaseAway(SQLAlchemyError):
    """The database cannot be used at the moment; a later try may succeed. The message is for the log."""


class LockLost(DatabaseAway):
    """The lock that was held has ended with its connection, and another process may hold it."""


@contextmanager
def connecting() -> Iterator[None]:
    """Raise DatabaseAway if no connection can be had."""
    try:
        yield
    except Exception as error:  # asyncpg's own errors too, which have no common class with the others
        raise DatabaseAway(str(error) or type(error).__name__) from error


@contextmanager
def using() -> Iterator[None]:
    """Raise DatabaseAway if the connection is lost meanwhile. Other errors are raised as they are."""
    try:
        yield
    except DBAPIError as error:
        state = getattr(error.orig, "sqlstate", None) or ""
        if error.connection_invalidated or state.startswith(_AWAY):
            raise DatabaseAway(str(error)) from error
        raise
