"""Writes a batch; when that fails, finds the input at fault, leaves it out and keeps it as a dead letter.

Whether input from outside or our own store is at fault is found by trial: when a batch fails even without any
input from outside, the error is raised.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import duckdb
import structlog

from indexer import faults
from indexer.catalog.tables.dead_letters import DeadLetter
from indexer.catalog.writing.batch import Batch, BatchResult, ResyncResult
from indexer.catalog.writing.writer import Writer
from schemas.ids import Nsid, Rkey

SOURCE: Final = "writer"
ROUNDS: Final = 3  # a batch that fails for several reasons needs one round for each
SUSPECTS: Final = (
    "changes",
    "accounts",
    "identities",
    "images",
    "waiting",
    "labels",
)  # fields with input from outside

log = structlog.get_logger()


class BatchPart(NamedTuple):
    """One item of a batch that came from outside; `path`: a record of a fetched repo."""

    field: str
    place: int
    path: tuple[Nsid, Rkey] | None = None


def write_without_poison(writer: Writer, batch: Batch) -> BatchResult:
    """Write a batch, if need be without some parts. Raises StoreError, and errors that no part causes."""
    for _ in range(ROUNDS):
        try:
            return writer.write(batch)
        except BaseException as error:
            # A DuckDB error can mean input that cannot be stored; damage has become a StoreError by now.
            if faults.is_fatal(error) and not isinstance(error, duckdb.Error):
                raise
            if not (parts := list(_parts(batch))) or _fails(writer, _with_only(batch, ())):
                raise
            reason = faults.record_fault("write", error)
        culprits = _culprits(writer, batch, parts)
        log.warning("left out of a batch", parts=len(culprits), of=len(parts))
        letters = [_letter(batch, culprit, reason) for culprit in culprits]
        batch = _with_only(batch, set(parts).difference(culprits))
        batch.dead_letters = [*batch.dead_letters, *letters]
    return writer.write(batch)


def _culprits(writer: Writer, batch: Batch, parts: Sequence[BatchPart]) -> list[BatchPart]:
    """Bisect parts that fail together into those that fail by themselves; all of them if none does."""
    if len(parts) == 1:
        return list(parts)
    middle = len(parts) // 2
    found: list[BatchPart] = []
    for half in (parts[:middle], parts[middle:]):
        if _fails(writer, _with_only(batch, set(half))):
            found += _culprits(writer, batch, half)
    return found or list(parts)


def _fails(writer: Writer, batch: Batch) -> bool:
    try:
        writer.rehearse(batch)
    except BaseException as error:
        if faults.is_fatal(error) and not isinstance(error, duckdb.Error):
            raise
        return True
    return False


def _parts(batch: Batch) -> Iterator[BatchPart]:
    for field in SUSPECTS:
        yield from (BatchPart(field, place) for place in range(len(getattr(batch, field))))
    for place, resync in enumerate(batch.resyncs):
        yield from (
            BatchPart("resyncs", place, path) for path in (resync.fetched.records if resync.fetched else ())
        )


def _with_only(batch: Batch, parts: Collection[BatchPart]) -> Batch:
    """The batch with only these of its parts, and everything that did not come from outside."""
    kept: dict[str, Any] = {
        field: [item for place, item in enumerate(getattr(batch, field)) if BatchPart(field, place) in parts]
        for field in SUSPECTS
    }
    resyncs = [_resync_with_only(resync, place, parts) for place, resync in enumerate(batch.resyncs)]
    return replace(batch, **kept, resyncs=resyncs)


def _resync_with_only(resync: ResyncResult, place: int, parts: Collection[BatchPart]) -> ResyncResult:
    if resync.fetched is None:
        return resync
    records = {
        path: record
        for path, record in resync.fetched.records.items()
        if BatchPart("resyncs", place, path) in parts
    }
    return replace(resync, fetched=replace(resync.fetched, records=records))


def _letter(batch: Batch, part: BatchPart, reason: str) -> DeadLetter:
    item = getattr(batch, part.field)[part.place]
    if part.path is not None:
        raw = item.fetched.records[part.path][1]
        reason = f"{'/'.join(part.path)}: {reason}"
    elif part.field == "changes":
        raw = item.block or b""
        reason = f"{item.collection}/{item.rkey}: {reason}"
    else:
        raw = item.raw if part.field == "waiting" else repr(item).encode()
    return DeadLetter(datetime.now(UTC), SOURCE, None, getattr(item, "did", None), reason, raw)
