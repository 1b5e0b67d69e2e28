"""The one writer of the catalogue: batches in, one transaction each.

Rows, tombstones, counts, outbox, dead letters and the cursor commit together: a crash replays, never skips.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final, Self

import duckdb

from indexer import projections
from indexer.accounts import Accounts
from indexer.batch import Batch, DeadLetter, IdentityFact, Listing, Picture, RecordChange, Written, newest
from indexer.catalogue import Catalogue, StoreError, sentences
from indexer.counters import Counters, Moves
from indexer.cursors import Cursors
from indexer.dead_letters import DeadLetters
from indexer.marks import Marks, Stored
from indexer.mends import UNKNOWN, Mends
from indexer.outbox import Stale
from indexer.pictures import Pictures
from indexer.projections.projection import utc
from indexer.rows import Applied, Hashing, RecordTable
from indexer.waiting import Waiting
from schemas.ids import Did, Nsid, tid_time
from schemas.settings import Settings

CHECKPOINT_BYTES: Final = 64 << 20  # of log, after which it goes into the file whatever the snapshots do
CLASH: Final = "The key derived from the at-uri is another record's: "


class Writer:
    """Open it once, use it on one thread. Readers on other threads take `reader()`."""

    def __init__(self, catalogue: Catalogue, settings: Settings, hashing: Hashing) -> None:
        self.path = catalogue.path
        self.copying = threading.Lock()  # held while the file is copied: no checkpoint may change it then
        self._catalogue = catalogue
        self._readers: list[duckdb.DuckDBPyConnection] = []
        self._accounts = Accounts(catalogue)
        self._counters = Counters(catalogue)
        self._pictures = Pictures(catalogue)
        self._dead_letters = DeadLetters(catalogue, settings.dead_letter_bytes)
        self._cursors = Cursors(catalogue)
        self._marks = Marks(catalogue)
        self._waiting = Waiting(catalogue)
        self._mends = Mends(catalogue, self._waiting, settings.collections)
        self._tables = {
            collection: RecordTable(catalogue, projection, settings.collections, hashing)
            for collection, projection in projections.of(settings.collections).items()
        }
        self._op = self._meta("outbox_op")
        self._pruned = self._meta("outbox_pruned")
        self.changes = 0  # transactions so far that changed what a snapshot is for

    @classmethod
    def open(cls, settings: Settings, hashing: Hashing = Hashing()) -> Self:  # noqa: B008
        """Open the catalogue of `settings.data_dir`, making it if there is none. Raises StoreError."""
        catalogue = Catalogue.open(settings)
        try:
            with sentences(catalogue.path):
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
        """Accounts that ever wrote a record of ours. The same set for the life of the writer."""
        return self._accounts.known

    @property
    def hidden(self) -> set[Did]:
        """Accounts whose status hides them, at this moment."""
        return set(self._accounts.hidden)

    @property
    def away(self) -> frozenset[Did]:
        """Accounts that the relay says are not active, at this moment."""
        return self._accounts.away

    @property
    def op(self) -> int:
        """Number of the last outbox entry ever written."""
        return self._op

    @property
    def dead_letters(self) -> int:
        """How many dead letters are kept."""
        return self._dead_letters.count

    @property
    def descriptor(self) -> int:
        """The open file, for whoever copies it: to open and close it anew would let other processes in."""
        return self._catalogue.file.fileno()

    def reader(self) -> duckdb.DuckDBPyConnection:
        """A cursor for one other thread, which sees what is committed. It lives as long as the writer."""
        reader = self._catalogue.con.cursor()
        self._readers.append(reader)
        return reader

    def followed_until(self) -> datetime | None:
        """The time of the newest event that is committed, whatever the source."""
        return self._cursors.newest()

    def cursor(self, source: str) -> int | None:
        """The source's low-water mark: everything up to it is stored."""
        return self._cursors.of(source)

    def repos(self) -> list[Stored]:
        """Every account's repo, as far as it is known."""
        return self._marks.all()

    def listings(self) -> list[Listing]:
        """How far discovery has come."""
        return self._cursors.listings()

    def unresolved(self) -> list[Did]:
        """Accounts whose identity wants resolving."""
        return [did for (did,) in self._catalogue.rows("select did from accounts where stale order by did")]

    def resolved_since(self, instant: datetime) -> list[tuple[IdentityFact, datetime]]:
        """Identities that were asked for since then, and when."""
        rows = self._catalogue.rows(
            "select did, handle, pds, signing_key, resolved_at from accounts "
            "where not stale and resolved_at > ?",
            (utc(instant),),
        )
        return [(IdentityFact(*known), at.replace(tzinfo=UTC)) for *known, at in rows]

    def unmeasured(self) -> list[Picture]:
        """Pictures of which the size is not known."""
        return self._pictures.unmeasured()

    def write(self, batch: Batch) -> Written:
        """Store a batch, whole or not at all. Raises StoreError when the disk refuses."""
        with self._transaction():
            written = self._store(batch, datetime.now(UTC))
        self.changes += written.op > self._op or written.rows > 0 or bool(written.mended)
        self._op = written.op
        self._checkpoint_when_long()
        return written

    def prune(self, op: int) -> None:
        """Forget outbox entries up to `op`, which every follower has behind it."""
        op = min(op, self._op)
        if op <= self._pruned:
            return
        with self._transaction():
            self._catalogue.con.execute("delete from outbox where op <= ?", [op])
            self._set_meta("outbox_pruned", op)
        self._pruned = op

    def checkpoint(self, patient: bool = False) -> bool:
        """Move the log into the file, so that nothing is missing from it. False when a reader is in the way.

        A patient call waits for readers to end. To be called with `copying` held.
        """
        with sentences(self.path):
            try:
                self._catalogue.con.execute("force checkpoint" if patient else "checkpoint")
            except duckdb.TransactionException as error:
                if "Cannot CHECKPOINT" not in str(error):
                    raise
                return False
        return True

    def close(self) -> None:
        """Close the file. Waits for a copy that is being made of it."""
        with self.copying:
            for reader in self._readers:
                reader.close()
            self._catalogue.close()

    def _store(self, batch: Batch, now: datetime) -> Written:
        stale, moves = Stale(self._catalogue), Moves()
        crowded_out = self._waiting.add(batch.waiting)
        self._marks.store(batch.repos)
        unresolved = self._accounts.meet([*batch.repos, *(change.did for change in batch.changes)])
        applied = self._take(batch.changes, now, stale, moves)
        mended = self._mends.apply(batch.mends)
        self._marks.store(mended.marks)
        applied += self._take(mended.changes, now, stale, moves)
        letters = [*batch.dead_letters, *mended.letters, *_clashes(applied)]
        returned = self._flip(batch, stale, moves)
        renamed, moved = self._accounts.learn(batch.identities, now)
        stale.renamed(renamed)
        doubtful = dict.fromkeys([*returned, *moved, *crowded_out])
        self._marks.doubt(doubtful.keys() | batch.again)
        unresolved += self._accounts.doubt(batch.stale)
        stale.measured(self._pictures.store(batch.images))
        self._counters.plays(batch.plays, moves)
        stale.played(moves.plays.keys())
        stale.counted(self._counters.apply(moves))
        self._dead_letters.remove(batch.settled)
        outbox = stale.rows(self._op + 1)
        self._catalogue.insert("outbox", outbox)
        if outbox:
            self._set_meta("outbox_op", outbox[-1]["op"])
        self._cursors.move(batch.cursors)
        self._cursors.keep(batch.listings)
        rows = [row for table in applied for row in table.after.values()]
        return Written(
            rows=len(rows),
            skipped=len(batch.changes) - len(rows),
            invalid=sum(row["state"] == "invalid" for row in rows),
            dead_letters=self._dead_letters.add(letters),
            op=self._op + len(outbox),
            unresolved=tuple(dict.fromkeys(unresolved)),
            unmeasured=tuple(self._pictures.unmeasured_in(rows)),
            mended=mended.marks,
            doubtful=tuple(doubtful),
        )

    def _take(self, changes: list[RecordChange], now: datetime, stale: Stale, moves: Moves) -> list[Applied]:
        """Apply changes, with what follows from them."""
        applied = self._apply([one for one in newest(changes) if self._accounts.survives(one)], now)
        for table in applied:
            self._count(table, moves)
            stale.changed(table)
        return applied

    def _apply(self, changes: list[RecordChange], now: datetime) -> list[Applied]:
        by_collection: dict[Nsid, list[RecordChange]] = {}
        for change in changes:
            by_collection.setdefault(change.collection, []).append(change)
        return [self._tables[collection].apply(group, now) for collection, group in by_collection.items()]

    def _count(self, applied: Applied, moves: Moves) -> None:
        match applied.projection.name:
            case "like":
                self._counters.likes(applied, self._accounts.hidden, moves)
            case "comment":
                self._counters.comments(applied, self._accounts.hidden, moves)

    def _flip(self, batch: Batch, stale: Stale, moves: Moves) -> list[Did]:
        """Let the accounts' events hide, show and remove, and their servers' words hide and show.

        Returns those that came back, to be shown or to be asked for, and were not fetched just now.
        """
        fetched = {mend.did for mend in batch.mends if mend.fetched}
        refusals = dict.fromkeys(fetched) | batch.refusals
        shown_before = ({event.did for event in batch.accounts} | refusals.keys()) - self._accounts.hidden
        away = self._accounts.away
        flipped, removals = self._accounts.obey(batch.accounts, refusals)
        affected = flipped | removals.keys()
        stale.shown_or_hidden(affected)
        self._counters.contributions(affected & shown_before, -1, moves)
        self._counters.removed(self._accounts.remove(removals))
        self._waiting.take(removals)
        self._marks.store(dict.fromkeys(removals, UNKNOWN))
        self._counters.contributions(affected - self._accounts.hidden, 1, moves)
        returned = (flipped - self._accounts.hidden) | (away - self._accounts.away)
        return sorted(returned - fetched)

    def _meta(self, name: str) -> int:
        return int(self._catalogue.rows("select value from meta where name = ?", (name,))[0][0])

    def _set_meta(self, name: str, value: int) -> None:
        self._catalogue.con.execute("update meta set value = ? where name = ?", [str(value), name])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with sentences(self.path):
            self._catalogue.con.execute("begin")
            try:
                yield
                self._catalogue.con.execute("commit")
                self._counters.settle(committed=True)
            except BaseException:
                self._undo()
                raise

    def _undo(self) -> None:
        """Roll back, and make memory agree with the file again."""
        self._counters.settle(committed=False)
        with suppress(duckdb.TransactionException):  # a commit that failed has rolled back by itself
            self._catalogue.con.execute("rollback")
        try:
            self._accounts.load()
            self._dead_letters.load()
            self._waiting.load()
        except duckdb.Error as error:
            raise StoreError(
                f"{self.path} had to be given up after an error on the disk ({str(error)[:200]}); "
                "start again once the disk works. What was committed is intact."
            ) from error

    def _checkpoint_when_long(self) -> None:
        wal = self.path.with_name(f"{self.path.name}.wal")
        if wal.exists() and wal.stat().st_size > CHECKPOINT_BYTES and self.copying.acquire(blocking=False):
            try:
                self.checkpoint()
            finally:
                self.copying.release()


def _clashes(applied: list[Applied]) -> list[DeadLetter]:
    return [
        DeadLetter(
            received_at=tid_time(change.rev),
            source="writer",
            seq=None,
            did=change.did,
            reason=f"{CLASH}{change.uri}",
            raw=change.block or b"",
        )
        for table in applied
        for change in table.clashes
    ]
