"""The order of one transaction: applies a batch to all tables. The writer begins and commits it."""

from collections.abc import Set
from datetime import datetime
from typing import Final

import orjson

from indexer.catalog import projections
from indexer.catalog.database import LISTED, Database, join_words
from indexer.catalog.projections import Applied
from indexer.catalog.tables.accounts import Accounts
from indexer.catalog.tables.change_log import ChangeLogTable
from indexer.catalog.tables.comment_limit import Crowding
from indexer.catalog.tables.cursors import Cursors
from indexer.catalog.tables.dead_letters import DeadLetter, DeadLetters
from indexer.catalog.tables.images import Pictures
from indexer.catalog.tables.labels import LabelTable, account_of
from indexer.catalog.tables.outbox import Stale
from indexer.catalog.tables.published_records import PublishedRecords
from indexer.catalog.tables.records import Hashing, RecordTable
from indexer.catalog.tables.repos import RepoTable
from indexer.catalog.tables.takedowns import TakedownTable
from indexer.catalog.tables.track_counts import Counters, Moves
from indexer.catalog.tables.waiting_commits import Waiting
from indexer.catalog.writing.apply_resync import UNKNOWN, ResyncApplier
from indexer.catalog.writing.batch import Batch, BatchResult
from indexer.repo.changes import RecordChange, newest_changes
from schemas.change_log import Entry
from schemas.ids import AtUri, Did, Nsid, tid_time
from schemas.labels import Label
from schemas.service_identity import service_did
from schemas.settings import Settings

CLASH: Final = "The key derived from the at-uri is another record's: "


class BatchTransaction:
    """All tables, with their caches in memory. Call `settle` after each transaction."""

    def __init__(self, catalogue: Database, settings: Settings, hashing: Hashing) -> None:
        self.takedowns = TakedownTable(catalogue, hashing.key)
        self.labels = LabelTable(
            catalogue,
            hashing.key,
            service_did(settings.base_url),
            is_tracked=lambda did: did in self.accounts.known,
        )
        self.accounts = Accounts(catalogue, self.takedowns.accounts, self.labels.accounts)
        self.pictures = Pictures(catalogue)
        self.dead_letters = DeadLetters(catalogue, settings.dead_letter_bytes)
        self.cursors = Cursors(catalogue)
        self.marks = RepoTable(catalogue)
        self.waiting = Waiting(catalogue)
        self._catalogue = catalogue
        self._crowding = Crowding(catalogue, settings.comments_per_track)
        self._counters = Counters(catalogue, self._crowding)
        self._resync_applier = ResyncApplier(catalogue, self.waiting, settings.collections)
        self._tables = {
            collection: RecordTable(
                catalogue,
                projection,
                settings.collections,
                hashing,
                self.takedowns.keys,
                self.labels.withholds,
            )
            for collection, projection in projections.projections_of(settings.collections).items()
        }
        tracks = self._tables[settings.collections.track]
        self._published = PublishedRecords(
            catalogue, tracks, self.accounts, self.labels, settings.collections
        )
        self.change_log = ChangeLogTable(catalogue)

    def settle(self, committed: bool) -> None:
        """Apply a committed transaction to the caches, or drop a failed one."""
        self._counters.settle(committed)

    def load(self) -> None:
        """Load the caches from the tables again, after a transaction was rolled back."""
        self.takedowns.load()
        self.labels.load()
        self.accounts.load()
        self.dead_letters.load()
        self.waiting.load()
        for table in self._tables.values():
            table.load()
        self._published.load()

    def limit_comments(self, most: int, op: int) -> int:
        """Change the limit of comments per account and track. Returns the last outbox entry."""
        comments, tracks = self._crowding.change(most)
        stale = Stale(self._catalogue)
        stale.keyed("comment", comments)
        stale.counted(self._counters.recount(tracks))
        outbox = stale.rows(op + 1)
        self._catalogue.insert("outbox", outbox)
        return op + len(outbox)

    def store(self, batch: Batch, now: datetime, op: int, position: int) -> BatchResult:
        """Store a whole batch. `op`: the last outbox entry so far; `position`: of the last logged change."""
        stale, moves, entries = Stale(self._catalogue), Moves(), list[Entry]()
        crowded_out = self.waiting.add(batch.waiting)
        self.marks.store(batch.repos)
        decided = self.takedowns.replace(batch.takedowns)
        labelled = self.labels.store(batch.labels, batch.statements, now)
        records = decided.records | labelled.records | self._tracks_of(labelled.changed)
        entries += self._published.changed(self._settle(records, stale, moves))
        unresolved = self.accounts.meet([*batch.repos, *(change.did for change in batch.changes)])
        applied = self._take(batch.changes, now, stale, moves)
        entries += self._published.changed(applied)
        resynced = self._resync_applier.apply(batch.resyncs)
        self.marks.store(resynced.marks)
        fetched = self._take(resynced.changes, now, stale, moves)
        entries += self._published.changed(fetched)
        applied += fetched
        letters = [
            *batch.dead_letters,
            *resynced.letters,
            *_clashes(applied),
            *(_above_limits(label, now) for label in labelled.refused),
        ]
        returned, removed = self._flip(batch, decided.accounts | labelled.changed, stale, moves, entries)
        stale.shown_or_hidden(labelled.changed)
        stale.labelled(labelled.named)
        renamed, moved = self.accounts.learn(batch.identities, now)
        stale.renamed(renamed)
        entries += self._published.renamed(renamed)
        doubtful = dict.fromkeys([*returned, *moved, *crowded_out])
        self.marks.doubt(doubtful.keys() | batch.again)
        unresolved += self.accounts.doubt(batch.stale)
        stale.measured(self.pictures.store(batch.images))
        self._counters.plays(batch.plays, moves)
        stale.played(moves.plays.keys())
        stale.counted(self._counters.apply(moves))
        stale.counted(self._counters.recount(batch.recount))
        if batch.sweep:
            stale.stray()
            for table, condition in projections.find_strays():
                self._catalogue.con.execute(f"delete from {table} where {condition}")
        self.dead_letters.remove(batch.settled)
        outbox = stale.rows(op + 1)
        self._catalogue.insert("outbox", outbox)
        position, frame = self.change_log.store(entries, position, now, op + len(outbox))
        self.cursors.move(batch.cursors)
        self.cursors.keep(batch.listings)
        rows = [row for table in applied for row in table.after.values()]
        return BatchResult(
            rows=len(rows),
            skipped=len(batch.changes) - len(rows),
            invalid=sum(row["state"] == "invalid" for row in rows),
            dead_letters=self.dead_letters.add(letters),
            op=op + len(outbox),
            unresolved=tuple(dict.fromkeys(unresolved)),
            unmeasured=tuple(self.pictures.unmeasured_in(rows)),
            resynced=resynced.marks,
            doubtful=tuple(doubtful),
            removed=tuple(removed),
            position=position,
            frame=frame,
        )

    def _settle(self, records: Set[AtUri], stale: Stale, moves: Moves) -> list[Applied]:
        """Show, withhold or hide records of which a takedown or a label has changed."""
        applied = []
        for collection, table in self._tables.items():
            mine = [uri for uri in records if uri.collection == collection]
            if mine:
                applied.append(table.settle(mine))
        for changed in applied:
            self._note(changed, stale, moves)
        return applied

    def _tracks_of(self, accounts: Set[Did]) -> set[AtUri]:
        """The tracks and lists of these accounts, which are for adults with them."""
        if not accounts:
            return set()
        found: set[AtUri] = set()
        for table in ("tracks", "lists"):
            query = f"select uri from {table} where did in {LISTED}"
            rows = self._catalogue.rows(query, [join_words(accounts)])
            found.update(AtUri.parse(uri) for (uri,) in rows)
        return found

    def _take(self, changes: list[RecordChange], now: datetime, stale: Stale, moves: Moves) -> list[Applied]:
        """Apply changes to records, counts and the outbox."""
        applied = self._apply([one for one in newest_changes(changes) if self.accounts.survives(one)], now)
        for table in applied:
            self._note(table, stale, moves)
        return applied

    def _note(self, applied: Applied, stale: Stale, moves: Moves) -> None:
        """Count what changed in a table, and mark its search documents."""
        hidden = self.accounts.hidden
        match applied.projection.counted:
            case "likes":
                stale.liked(applied, self._counters.likes(applied, hidden, moves))
            case "comments":
                stale.keyed("comment", self._counters.comments(applied, hidden, moves))
        stale.changed(applied)

    def _apply(self, changes: list[RecordChange], now: datetime) -> list[Applied]:
        by_collection: dict[Nsid, list[RecordChange]] = {}
        for change in changes:
            by_collection.setdefault(change.collection, []).append(change)
        return [self._tables[collection].apply(group, now) for collection, group in by_collection.items()]

    def _flip(
        self, batch: Batch, decided: Set[Did], stale: Stale, moves: Moves, entries: list[Entry]
    ) -> tuple[list[Did], list[Did]]:
        """Apply statuses, refusals and decisions: hide or show accounts, and remove those both call deleted.

        `decided`: accounts of which a takedown or a label was just changed.

        Returns accounts that came back and were not fetched just now, and accounts that were removed.
        """
        fetched = {
            resync.did for resync in batch.resyncs if resync.fetched and not resync.again
        } - batch.again
        refusals = dict.fromkeys(fetched) | batch.refusals
        shown_before = (
            {event.did for event in batch.accounts} | refusals.keys() | decided
        ) - self.accounts.hidden
        away = self.accounts.away
        flipped, removals = self.accounts.obey(batch.accounts, refusals, decided)
        affected = flipped | removals.keys()
        stale.shown_or_hidden(affected)
        self._counters.contributions(affected & shown_before, -1, moves)
        self._crowding.left(removals)
        self._published.removed(removals)
        self._counters.removed(self.accounts.remove(removals))
        self.waiting.take(removals)
        self.marks.store(dict.fromkeys(removals, UNKNOWN))
        self._counters.contributions(affected - self.accounts.hidden, 1, moves)
        entries += self._published.shown_or_hidden(flipped)
        returned = (flipped - self.accounts.hidden) | (away - self.accounts.away)
        return sorted(returned - fetched), sorted(removals)


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


def _above_limits(label: Label, now: datetime) -> DeadLetter:
    fields = label._asdict() | {"cts": label.cts.isoformat(), "expires_at": None}
    return DeadLetter(
        received_at=now,
        source=label.source,
        seq=None,
        did=account_of(label.subject),
        reason="The labeler gives more labels than are kept of one subject, or in all.",
        raw=orjson.dumps(fields),
    )
