"""Whether an SQLite database has changed: answered in microseconds, without a task or a thread."""

import sqlite3
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote


class Commits:
    """Notices the commits of all processes, by `PRAGMA data_version` on a connection that only reads.

    In WAL mode that waits for no writer. For one thread: the one that asks first.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def mark(self) -> int | None:
        """A number that changes with every commit; None when it cannot be read at the moment.

        What was read from the database after one mark is still true while the next mark is the same.
        """
        try:
            if self._connection is None:
                self._connection = _connect(self._path)
            (version,) = self._connection.execute("pragma data_version").fetchone()
        except sqlite3.Error:
            self.close()
            return None
        return int(version)

    def close(self) -> None:
        """Close the connection; `mark` opens another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", timeout=0, isolation_level=None, uri=True)
