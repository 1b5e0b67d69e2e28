"""Applies record changes to one record type's tables: the newest version wins, in any order of arrival."""

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple, get_args

from indexer import faults
from indexer.catalog.database import Database, join_keys
from indexer.catalog.hash_sets import HashSet
from indexer.catalog.projections import Applied, Projection, Row
from indexer.catalog.tables.public_ids import PublicIds
from indexer.repo import dag_cbor
from indexer.repo.changes import RecordChange
from indexer.repo.dag_cbor import CborError
from schemas.collections import Collections
from schemas.datetimes import to_utc
from schemas.fields import Shape
from schemas.ids import AtUri, is_tid, record_id, record_key, tid_time
from schemas.records import Invalid, parse_record_as

# What is wanted of every version that is replaced, besides what its projection remembers.
REMEMBERED: Final = ("rowid", "key", "uri", "did", "rkey", "rev", "cid", "state", "verified")


State = Literal["live", "withheld", "takendown"]  # of a record with content
_WITH_CONTENT: Final = "('live', 'withheld', 'takendown')"


class Hashing(NamedTuple):
    """How keys and public ids are derived. Tests put narrower hashes in, to see them collide."""

    key: Callable[[str], int] = record_key
    id: Callable[[str, int], int] = record_id


@dataclass(slots=True)
class _Rows:
    """The rows that a set of changes makes."""

    rows: dict[int, Row] = field(default_factory=dict)
    children: dict[str, list[Row]] = field(default_factory=dict)
    invalid: list[Row] = field(default_factory=list)


class RecordTable:
    """One record type's tables, with the set of stored keys in memory.

    `taken_down`: keys of records that the operator has taken down, and `withholds`: do labels withhold a
    record, by its key and CID? Both at every moment.
    """

    def __init__(
        self,
        catalogue: Database,
        projection: Projection[Any],
        collections: Collections,
        hashing: Hashing,
        taken_down: Container[int],
        withholds: Callable[[int, str | None], bool],
    ) -> None:
        self.projection = projection
        self._catalogue = catalogue
        self._collections = collections
        self._key_of = hashing.key
        self._taken_down = taken_down
        self._withholds = withholds
        self._seen = HashSet(catalogue.hashes(projection.table, "key"))
        self._recent_since = datetime.max.replace(tzinfo=UTC)  # the earliest time at which one was added
        self._ids = PublicIds(catalogue, projection.table, hashing.id) if projection.has_id else None
        self._remembered = (*REMEMBERED, *(("id",) if projection.has_id else ()), *projection.remembered)

    def load(self) -> None:
        """Load the memory from the tables again, after a transaction was rolled back."""
        self._seen = HashSet(self._catalogue.hashes(self.projection.table, "key"))
        if self._ids is not None:
            self._ids.load()

    def apply(self, changes: Sequence[RecordChange], now: datetime) -> Applied:
        """Store the changes that are newer, or better verified, than the stored versions."""
        # Clocks may be set back.
        self._recent_since = min(self._recent_since, now) if self._seen.has_recent else now
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
            self.projection, before, made.rows, children_before, made.children, moved, tuple(clashes), winners
        )

    def known(self, keys: Collection[int]) -> list[int]:
        """Those of these keys that a record has, or had."""
        return self._seen.known(keys)

    def settle(self, uris: Iterable[AtUri]) -> Applied:
        """Show, withhold or hide these records, as is decided now: rows and children stay."""
        table, names = self.projection.table, ("rowid", *self._catalogue.columns(self.projection.table))
        known = self._seen.known({self._key_of(str(uri)) for uri in uris})
        found = known and self._catalogue.rows(
            f"select {', '.join(names)} from {table} where rowid in "
            f"(select rowid from {table} where key in ({join_keys(known)})) and state in {_WITH_CONTENT}"
        )
        rows = [dict(zip(names, values, strict=True)) for values in found or ()]
        after = [{**row, "state": self._state_of(row["key"], row["cid"])} for row in rows]
        for state in get_args(State):
            places = [
                one["rowid"]
                for row, one in zip(rows, after, strict=True)
                if one["state"] == state != row["state"]
            ]
            if places:
                where = f"where rowid in ({join_keys(places)})"
                self._catalogue.rows(f"update {table} set state = ? {where}", (state,))
        children = self._children([row["key"] for row in rows])
        return Applied(
            self.projection,
            {row["key"]: row for row in rows},
            {row["key"]: row for row in after},
            children,
            children,
        )

    def _state_of(self, key: int, cid: str | None) -> State:
        """The state of a record with content."""
        if key in self._taken_down:
            return "takendown"
        return "withheld" if self._withholds(key, cid) else "live"

    def _children(self, parents: Collection[int]) -> dict[str, list[Row]]:
        """The child rows of these records, by their tables."""
        if not parents:
            return {}
        catalogue = self._catalogue
        found: dict[str, list[Row]] = {}
        for table in self.projection.child_tables:
            query = f"select * from {table} where {self.projection.child_key} in ({join_keys(parents)})"
            names = catalogue.columns(table)
            found[table] = [dict(zip(names, row, strict=True)) for row in catalogue.rows(query)]
        return found

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
        table, which = self.projection.table, f"key in ({join_keys(known)})"
        if self._seen.are_recent(known):
            # What was written last is at the end of the table: the rest of a large one is not looked through.
            which += f" and verified_at >= '{to_utc(self._recent_since)}'"
        found = self._catalogue.rows(
            f"select {', '.join(self._remembered)} from {table} where rowid in "
            f"(select rowid from {table} where {which})"
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
            record = Invalid((faults.record_fault("record", error),))
        if isinstance(record, Invalid):
            made.invalid.append(_invalid(key, change, record))
            return {"state": "invalid", "cid": change.cid}
        for table, rows in children.items():
            made.children[table] += rows
        return {"state": self._state_of(key, change.cid), "cid": change.cid, **columns}

    def _record(self, change: RecordChange) -> Shape | Invalid:
        """Parse the change's block. A proof holds for any bytes, so their form is checked here."""
        block = change.block or b""
        try:
            dag_cbor.decode_block(block)
        except CborError as error:
            return Invalid((f"The record {error}",))
        return parse_record_as(
            self.projection.model, change.collection, self._collections, block, change.rkey
        )

    def _remove(self, before: Mapping[int, Row]) -> dict[str, list[Row]]:
        """Remove the replaced versions. Returns the child rows that they had."""
        if not before:
            return {}
        catalogue, projection = self._catalogue, self.projection
        rowids = join_keys(row["rowid"] for row in before.values())
        catalogue.con.execute(f"delete from {projection.table} where rowid in ({rowids})")
        removed = self._children(before)
        for table, rows in removed.items():
            if rows:
                which = f"where {projection.child_key} in ({join_keys(before)})"
                catalogue.con.execute(f"delete from {table} {which}")
        invalid = [key for key, row in before.items() if row["state"] == "invalid"]
        if invalid:
            catalogue.con.execute(f"delete from invalid_records where key in ({join_keys(invalid)})")
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
        "indexed_at": to_utc(_indexed_at(change)),
        "state": "deleted",
        "verified": change.verified,
        "verified_at": to_utc(now),
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
    """The record's own time, as a resync, a nudge and the stream deliver one version with different revs."""
    # TIDs sort as their times do.
    return tid_time(min(change.rkey, change.rev) if is_tid(change.rkey) else change.rev)


def _clash(change: RecordChange, stored: Row | None) -> bool:
    return stored is not None and stored["uri"] != str(change.uri)


def _wins(change: RecordChange, stored: Row | None) -> bool:
    if stored is None:
        return True
    return not _clash(change, stored) and change.beats(stored["rev"], stored["verified"])
