"""The table of the change log: the frame of each transaction, until the log's files have it on disk."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from indexer.catalog.database import Database
from schemas.change_log import Entry, make_frame

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class ChangeLogTable:
    """The table `change_log`."""

    def __init__(self, catalogue: Database) -> None:
        self._catalogue = catalogue

    def store(self, entries: Sequence[Entry], after: int, now: datetime, op: int) -> tuple[int, bytes]:
        """Store a transaction's changes. Returns the position of the last, or `after`, and their frame."""
        if not entries:
            return after, b""
        first = max(after + 1, (now - _EPOCH) // timedelta(microseconds=1))
        position = first + len(entries) - 1
        frame = make_frame(entries, position, op)
        self._catalogue.con.execute("insert into change_log values (?, ?)", [position, frame])
        return position, frame

    def frames_after(self, position: int) -> Iterator[tuple[int, bytes]]:
        """The stored frames after a position, each with the position of its last change."""
        query = "select position, frame from change_log where position > ? order by position"
        yield from self._catalogue.rows(query, (position,))

    def prune(self, position: int) -> None:
        """Delete the frames up to a position, which the files have on disk."""
        self._catalogue.con.execute("delete from change_log where position <= ?", [position])
