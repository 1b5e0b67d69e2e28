"""Record changes -> one table: the newest version wins, whoever brings it and however often."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from indexer import dag_cbor, faults
from indexer.batch import RecordChange
from indexer.catalogue import Catalogue, keys
from indexer.dag_cbor import CborError
from indexer.projections import Projection, Row
from indexer.projections.projection import utc
from indexer.public_ids import PublicIds
from indexer.seen import Seen
from schemas.collections import Collections
from schemas.ids import is_tid, record_id, record_key, tid_time
from schemas.records import Invalid, Record, parse

# What is wanted of the version that is replaced, where the table has it.
REMEMBERED: Final = (
    "rowid",
    "key",
    "uri",
    "did",
    "rev",
    "state",
    "verified",
    "id",
    "pair",
    "subject_key",
    "album",
    "list_type",
)


class Hashing(NamedTuple):
    """How keys and public ids are derived. Tests put narrower hashes in, to see them collide."""

    key: Callable[[str], int] = record_key
    id: Callable[[str, int], int] = record_id


@dataclass(frozen=True, slots=True)
class Applied:
    """What changed in one table: rows by key before and after, their children, and uris that clash."""

    projection: Projection[Any]
    before: Mapping[int, Row]
    after: Mapping[int, Row]
    children_before: Mapping[str, Sequence[Row]]
    children_after: Mapping[str, Sequence[Row]]
    moved: Sequence[int] = ()
    clashes: Sequence[RecordChange] = ()

    def versions(self) -> Iterator[Row]:
        """Every row that is or was live: what has, or had, a search document."""
        for row in (*self.before.values(), *self.after.values()):
            if row["state"] == "live":
                yield row

    def children(self, table: str) -> Iterator[Row]:
        """Every child row that is or was there."""
        yield from self.children_before.get(table, ())
        yield from self.children_after.get(table, ())


@dataclass(slots=True)
class _Rows:
    """The rows that a set of changes makes."""

    rows: dict[int, Row] = field(default_factory=dict)
    children: dict[str, list[Row]] = field(default_factory=dict)
    invalid: list[Row] = field(default_factory=list)


class RecordTable:
    """One record type's tables, and what is known to be in them."""

    def __init__(
        self, catalogue: Catalogue, projection: Projection[Any], collections: Collections, hashing: Hashing
    ) -> None:
        self.projection = projection
        self._catalogue = catalogue
        self._collections = collections
        self._key_of = hashing.key
        self._seen = Seen(catalogue.hashes(projection.table, "key"))
        self._ids = PublicIds(catalogue, projection.table, hashing.id) if projection.has_id else None
        names = ("rowid", *catalogue.columns(projection.table))
        self._remembered = [name for name in REMEMBERED if name in names]

    def load(self) -> None:
        """Read memory from the tables again, after a transaction that did not happen."""
        self._seen = Seen(self._catalogue.hashes(self.projection.table, "key"))
        if self._ids is not None:
            self._ids.load()

    def apply(self, changes: Sequence[RecordChange], now: datetime) -> Applied:
        """Store what is newer, or better known, than what is stored."""
        incoming, clashes = self._by_key(changes)
        stored = self._stored(incoming)
        clashes += [change for key, change in incoming.items() if _clash(change, stored.get(key))]
        winners = {key: change for key, change in incoming.items() if _wins(change, stored.get(key))}
        before = {key: stored[key] for key in winners if key in stored}
        ids, moved = self._public_ids(winners, before)
        made = self._make(winners, ids, now)
        children_before = self._remove(before)
        self._insert(made)
        return Applied(
            self.projection, before, made.rows, children_before, made.children, moved, tuple(clashes)
        )

    def _by_key(self, changes: Sequence[RecordChange]) -> tuple[dict[int, RecordChange], list[RecordChange]]:
        incoming: dict[int, RecordChange] = {}
        clashes = [
            change
            for change in changes
            if incoming.setdefault(self._key_of(str(change.uri)), change) is not change
        ]
        return incoming, clashes

    def _stored(self, incoming: Mapping[int, RecordChange]) -> dict[int, Row]:
        known = self._seen.known(incoming.keys())
        if not known:
            return {}
        table = self.projection.table
        found = self._catalogue.rows(
            f"select {', '.join(self._remembered)} from {table} where rowid in "
            f"(select rowid from {table} where key in ({keys(known)}))"
        )
        rows = [dict(zip(self._remembered, values, strict=True)) for values in found]
        return {row["key"]: row for row in rows}

    def _public_ids(
        self, winners: Mapping[int, RecordChange], before: Mapping[int, Row]
    ) -> tuple[dict[int, int], list[int]]:
        if self._ids is None:
            return {}, []
        assigned = self._ids.assign({key: change.uri for key, change in winners.items() if key not in before})
        moved = [key for key in assigned if key not in winners]
        for key in moved:
            self._catalogue.rows(
                f"update {self.projection.table} set id = ? where key = ?", (assigned[key], key)
            )
        return {key: row["id"] for key, row in before.items()} | assigned, moved

    def _make(self, winners: Mapping[int, RecordChange], ids: Mapping[int, int], now: datetime) -> _Rows:
        made = _Rows(children={table: [] for table in self.projection.child_tables})
        for key, change in winners.items():
            row = _envelope(key, change, now)
            if key in ids:
                row["id"] = ids[key]
            if change.action != "delete":
                row |= self._content(key, change, made)
            made.rows[key] = row
        return made

    def _content(self, key: int, change: RecordChange, made: _Rows) -> dict[str, Any]:
        try:
            record = self._record(change)
            if not isinstance(record, Invalid):
                children = self.projection.children(record, change.uri)
                columns = self.projection.columns(record, change.uri)
        except BaseException as error:
            if faults.is_fatal(error):
                raise
            record = Invalid((faults.reason("record", error),))
        if isinstance(record, Invalid):
            made.invalid.append(_invalid(key, change, record))
            return {"state": "invalid", "cid": change.cid}
        for table, rows in children.items():
            made.children[table] += rows
        return {"state": "live", "cid": change.cid, **columns}

    def _record(self, change: RecordChange) -> Record | Invalid:
        """What the change's block says. Proofs hold whatever is in it, so its form is looked at here."""
        block = change.block or b""
        try:
            dag_cbor.decode(block)
        except CborError as error:
            return Invalid((f"The record {error}",))
        return parse(change.collection, self._collections, block, change.rkey)

    def _remove(self, before: Mapping[int, Row]) -> dict[str, list[Row]]:
        """Take the replaced versions out. Returns the child rows that they had."""
        removed: dict[str, list[Row]] = {}
        if not before:
            return removed
        catalogue, projection = self._catalogue, self.projection
        rowids = keys(row["rowid"] for row in before.values())
        catalogue.con.execute(f"delete from {projection.table} where rowid in ({rowids})")
        for table in projection.child_tables:
            which = f"from {table} where {projection.child_key} in ({keys(before)})"
            names = catalogue.columns(table)
            removed[table] = [
                dict(zip(names, row, strict=True)) for row in catalogue.rows(f"select * {which}")
            ]
            if removed[table]:
                catalogue.con.execute(f"delete {which}")
        invalid = [key for key, row in before.items() if row["state"] == "invalid"]
        if invalid:
            catalogue.con.execute(f"delete from invalid_records where key in ({keys(invalid)})")
        return removed

    def _insert(self, made: _Rows) -> None:
        self._catalogue.insert(self.projection.table, list(made.rows.values()))
        for table, rows in made.children.items():
            self._catalogue.insert(table, rows)
        self._catalogue.insert("invalid_records", made.invalid)
        self._seen.add(made.rows.keys())


def _envelope(key: int, change: RecordChange, now: datetime) -> dict[str, Any]:
    return {
        "key": key,
        "uri": str(change.uri),
        "did": change.did,
        "rkey": change.rkey,
        "rev": change.rev,
        "indexed_at": utc(_indexed_at(change)),
        "state": "deleted",
        "verified": change.verified,
        "verified_at": utc(now),
    }


def _invalid(key: int, change: RecordChange, why: Invalid) -> dict[str, Any]:
    return {
        "key": key,
        "collection": change.collection,
        "uri": str(change.uri),
        "rev": change.rev,
        "cid": change.cid,
        "reasons": "\n".join(why.reasons),
        "record": change.block or b"",
    }


def _indexed_at(change: RecordChange) -> datetime:
    """The same whoever brings a version: a whole repo, a nudge and the stream know it by different revs."""
    # TIDs sort as their times do.
    return tid_time(min(change.rkey, change.rev) if is_tid(change.rkey) else change.rev)


def _clash(change: RecordChange, stored: Row | None) -> bool:
    return stored is not None and stored["uri"] != str(change.uri)


def _wins(change: RecordChange, stored: Row | None) -> bool:
    if stored is None:
        return True
    return not _clash(change, stored) and change.beats(stored["rev"], stored["verified"])
