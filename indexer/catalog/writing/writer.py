"""The only writer of the catalogue: one transaction for each batch.

Rows, tombstones, counts, outbox, dead letters and the cursor commit together: a crash replays, never skips.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final, Self

import duckdb
import structlog

from indexer.catalog.database import Database
from indexer.catalog.published.change_files import ChangeFiles
from indexer.catalog.store_errors import DAMAGE, explain_errors
from indexer.catalog.tables.cursors import ListProgress
from indexer.catalog.tables.images import Picture
from indexer.catalog.tables.records import Hashing
from indexer.catalog.tables.repos import StoredRepo
from indexer.catalog.writing.batch import Batch, BatchResult
from indexer.catalog.writing.transaction import BatchTransaction
from indexer.events import IdentityFact
from indexer.faults import StoreError
from schemas import data_folder
from schemas.datetimes import to_utc
from schemas.ids import Did
from schemas.settings import Settings

log = structlog.get_logger()

CHECKPOINT_BYTES: Final = 64 << 20  # a longer log is moved into the file even without a snapshot


class _Rehearsed(Exception):
    """Raised to roll back a rehearsed transaction."""


class Writer:
    """Open it once, use it on one thread. Readers on other threads take `reader()`."""

    def __init__(self, catalogue: Database, settings: Settings, hashing: Hashing) -> None:
        self.path = catalogue.path
        self.copying = threading.Lock()  # held while the file is copied: no checkpoint may change it then
        self._catalogue = catalogue
        self._readers: list[duckdb.DuckDBPyConnection] = []
        self._holdings = BatchTransaction(catalogue, settings, hashing)
        self._log = ChangeFiles(settings.data_dir / data_folder.CHANGES, settings.log_hours)
        self._position = self._log.position  # of the last change that is committed
        for position, frame in self._holdings.change_log.frames_after(self._log.position):
            self._log.append(frame, position)
            self._position = position
        self._op = self._meta("outbox_op")
        self._pruned = self._meta("outbox_pruned")
        self.changes = 0  # transactions so far that changed what a snapshot is for
        self._limit_comments(settings.comments_per_track)

    @classmethod
    def open(cls, settings: Settings, hashing: Hashing = Hashing()) -> Self:  # noqa: B008
        """Open the catalogue of `settings.data_dir`, creating it if there is none. Raises StoreError."""
        catalogue = Database.open(settings)
        try:
            with explain_errors(catalogue.path):
                return cls(catalogue, settings, hashing)
        except BaseException:
            catalogue.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def tracked(self) -> set[Did]:
        """Accounts that ever wrote a record of our collections. The same set for the life of the writer."""
        return self._holdings.accounts.known

    @property
    def hidden(self) -> set[Did]:
        """Accounts whose status hides them, at this moment."""
        return set(self._holdings.accounts.hidden)

    @property
    def away(self) -> frozenset[Did]:
        """Accounts that the relay says are not active, at this moment."""
        return self._holdings.accounts.away

    @property
    def op(self) -> int:
        """Number of the last outbox entry ever written."""
        return self._op

    @property
    def dead_letters(self) -> int:
        """How many dead letters are kept."""
        return self._holdings.dead_letters.count

    @property
    def descriptor(self) -> int:
        """The open file, to copy it: opening and closing it again would drop the lock on it."""
        return self._catalogue.file.fileno()

    def reader(self) -> duckdb.DuckDBPyConnection:
        """A cursor for one other thread, which sees what is committed. It lives as long as the writer."""
        reader = self._catalogue.con.cursor()
        self._readers.append(reader)
        return reader

    def followed_until(self) -> datetime | None:
        """The time of the newest event that is committed, whatever the source."""
        return self._holdings.cursors.newest()

    def cursor(self, source: str) -> int | None:
        """The source's low-water mark: everything up to it is stored."""
        return self._holdings.cursors.of(source)

    def repos(self) -> Iterator[StoredRepo]:
        """The stored head of every account's repo. Read them all before the writer is used again."""
        return self._holdings.marks.all(self.tracked)

    def listings(self) -> list[ListProgress]:
        """The position of discovery in each list."""
        return self._holdings.cursors.listings()

    def unresolved(self) -> list[Did]:
        """Accounts with identities to be resolved."""
        return [did for (did,) in self._catalogue.rows("select did from accounts where stale order by did")]

    def resolved_since(self, instant: datetime) -> list[tuple[IdentityFact, datetime]]:
        """Identities that were resolved since the instant, and when."""
        rows = self._catalogue.rows(
            "select did, handle, pds, signing_key, resolved_at from accounts "
            "where not stale and resolved_at > ?",
            (to_utc(instant),),
        )
        return [(IdentityFact(*known), at.replace(tzinfo=UTC)) for *known, at in rows]

    def label_sources(self) -> set[str]:
        """Who gave the labels that are stored."""
        return {source for (source,) in self._catalogue.rows("select distinct source from labels")}

    def labels_due(self, now: datetime) -> bool:
        """Has a label expired whose effect stands?"""
        return self._holdings.labels.is_due(now)

    def unmeasured(self) -> list[Picture]:
        """Images without a stored size."""
        return self._holdings.pictures.unmeasured()

    def write(self, batch: Batch) -> BatchResult:
        """Store a batch, whole or not at all. Raises StoreError when the disk refuses."""
        with self._transaction():
            written = self._holdings.store(batch, datetime.now(UTC), self._op, self._position)
            if written.op > self._op:
                self._set_meta("outbox_op", written.op)
        self.changes += written.op > self._op or written.rows > 0 or bool(written.resynced)
        self._op = written.op
        if written.frame:
            self._log_changes(written)
        self._checkpoint_when_long()
        return written

    def _log_changes(self, written: BatchResult) -> None:
        """Append what is committed to the log's files. What does not fit stays in the table until it does."""
        is_behind = self._log.position < self._position
        self._position = written.position
        try:
            left = self._holdings.change_log.frames_after(self._log.position) if is_behind else None
            for position, frame in left or [(written.position, written.frame)]:
                self._log.append(frame, position)
        except StoreError as error:
            log.warning("changes not logged yet", reason=str(error))

    def rehearse(self, batch: Batch) -> None:
        """Store the batch and roll back. Raises what `write` would raise."""
        with suppress(_Rehearsed), self._transaction():
            self._holdings.store(batch, datetime.now(UTC), self._op, self._position)
            raise _Rehearsed

    def prune(self, op: int) -> None:
        """Delete outbox entries up to `op`, which the search index has applied, and changes safe in files."""
        op = min(op, self._op)
        if op <= self._pruned:
            return
        with self._transaction():
            self._catalogue.con.execute("delete from outbox where op <= ?", [op])
            self._set_meta("outbox_pruned", op)
            self._holdings.change_log.prune(self._log.sync())
        self._pruned = op

    def checkpoint(self, patient: bool = False) -> bool:
        """Move the log into the file, which is complete then. False when that has to wait.

        A patient call waits for readers to end. To be called with `copying` held. Raises StoreError.
        """
        return self._catalogue.checkpoint(patient)

    @property
    def given_up(self) -> bool:
        """True when a write failed, so that only a restart can write again."""
        return self._catalogue.given_up

    def has_room_to_copy(self) -> bool:
        """True when the disk has room for a checkpoint and a copy of the file after it."""
        catalogue = self._catalogue
        return catalogue.has_room(2 * catalogue.checkpoint_bytes - catalogue.wal_bytes)

    def close(self) -> None:
        """Close the file, after a copy that is being made of it."""
        with self.copying:
            for reader in self._readers:
                reader.close()
            self._log.close()
            self._catalogue.close()

    def _meta(self, name: str) -> int:
        return int(self._catalogue.rows("select value from meta where name = ?", (name,))[0][0])

    def _set_meta(self, name: str, value: int) -> None:
        self._catalogue.con.execute("update meta set value = ? where name = ?", [str(value), name])

    def _limit_comments(self, most: int) -> None:
        """Apply the setting to the stored comments, if it has changed."""
        with self._transaction():
            op = self._holdings.limit_comments(most, self._op)
            if op > self._op:
                self._set_meta("outbox_op", op)
        self._op = op

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._catalogue.guarded():
            self._catalogue.con.execute("begin")
            try:
                yield
            except (OSError, *DAMAGE):
                raise  # the catalogue is given up, and what memory says of it with it
            except BaseException:
                self._undo()
                raise
            self._catalogue.end_transaction("commit")
            self._holdings.settle(committed=True)

    def _undo(self) -> None:
        """Roll back, and load the caches from the tables again."""
        self._holdings.settle(committed=False)
        self._catalogue.end_transaction("rollback")
        self._holdings.load()

    def _checkpoint_when_long(self) -> None:
        if self._catalogue.wal_bytes > CHECKPOINT_BYTES and self.copying.acquire(blocking=False):
            try:
                self.checkpoint()
            finally:
                self.copying.release()
