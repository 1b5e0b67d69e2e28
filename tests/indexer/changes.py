"""Record changes in one line each, for tests of the store."""

import base64
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.events import Account
from indexer.repo.changes import RecordChange
from schemas.ids import AtUri, Cid, Did, Rkey, Tid, tid_at
from schemas.settings import Settings
from tests import documents

START = datetime(2026, 3, 1, tzinfo=UTC)
STATEFUL = (
    "outbox",
    "change_log",
    "dead_letters",
    "cursors",
)  # what may differ between two orders of the same events
HOW_WE_KNOW = "columns(name -> name not in ('verified', 'verified_at', 'resolved_at'))"  # and so may these

Rows = dict[str, list[tuple[Any, ...]]]


def did(name: str) -> Did:
    """The account of a person: the same for the same name."""
    return Did("did:plc:" + base64.b32encode(hashlib.sha256(name.encode()).digest()).decode().lower()[:24])


def instant(second: int) -> datetime:
    """So many seconds into the tests' day."""
    return START + timedelta(seconds=second)


def rev(second: int) -> Tid:
    """The rev of a commit made then."""
    return tid_at(instant(second))


def uri(person: str, kind: str, number: int = 0) -> AtUri:
    """The address of somebody's nth record of a type."""
    rkey = "self" if kind == "profile" else tid_at(instant(number))
    return AtUri(did(person), documents.collection(kind), Rkey(rkey))


def put(
    person: str, kind: str, number: int = 0, *, at: int, document: Any = None, **fields: Any
) -> RecordChange:
    """A record written at a second: the least of its type, with these fields changed."""
    block = documents.encode(documents.least(kind) | fields if document is None else document)
    where = uri(person, kind, number)
    digest = base64.b32encode(hashlib.sha256(block).digest()).decode().lower().rstrip("=")
    cid = Cid("bafyrei" + digest)
    return RecordChange(where.did, where.collection, where.rkey, rev(at), "update", cid, block)


def delete(person: str, kind: str, number: int = 0, *, at: int) -> RecordChange:
    """A record deleted at a second."""
    where = uri(person, kind, number)
    return RecordChange(where.did, where.collection, where.rkey, rev(at), "delete", None, None)


def like(person: str, subject: AtUri, number: int = 0, *, at: int, **fields: Any) -> RecordChange:
    """A person likes a track."""
    return put(person, "like", number, at=at, subject=documents.strong_ref(str(subject)), **fields)


def comment(person: str, subject: AtUri, number: int = 0, *, at: int, **fields: Any) -> RecordChange:
    """A person remarks on a track."""
    return put(person, "comment", number, at=at, subject=documents.strong_ref(str(subject)), **fields)


def album(person: str, items: Sequence[AtUri], number: int = 0, *, at: int, **fields: Any) -> RecordChange:
    """An album of these tracks."""
    held = [{"subject": documents.strong_ref(str(item))} for item in items]
    return put(person, "list", number, at=at, items=held, **{"listType": "album", "name": "Album"} | fields)


def account(person: str, status: str, *, at: int) -> Account:
    """An #account event."""
    return Account(seq=at, did=did(person), time=instant(at), status=status)


def settings(folder: Path, **fields: Any) -> Settings:
    """Settings for a catalogue in a folder."""
    return Settings(data_dir=folder, **fields)


def write(writer: Writer, *changes: RecordChange | Account) -> None:
    """Write these in one transaction."""
    writer.write(
        Batch(
            changes=[change for change in changes if isinstance(change, RecordChange)],
            accounts=[event for event in changes if isinstance(event, Account)],
        )
    )


def remove(writer: Writer, person: str, *, at: int) -> None:
    """Somebody is said to be deleted then, and their server agrees."""
    writer.write(Batch(accounts=[account(person, "deleted", at=at)], refusals={did(person): "deleted"}))


def contents(con: duckdb.DuckDBPyConnection) -> Rows:
    """Every row that must not depend on the order of events, sorted, by table."""
    tables = con.execute(
        "select table_name from duckdb_tables() where not internal and not temporary"
    ).fetchall()
    return {
        table: con.execute(f"select {HOW_WE_KNOW} from {table} order by all").fetchall()
        for (table,) in sorted(tables)
        if table not in STATEFUL
    } | {"meta": con.execute("select * from meta where name = 'schema_version'").fetchall()}
