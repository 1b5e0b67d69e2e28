"""What makes a batch impossible to write is found, left out, and kept as a dead letter.

Whether strangers' input or our own store is at fault is found by trial: when a batch fails even without any
input from outside, the error goes on.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import duckdb
import structlog

from indexer import faults
from indexer.batch import Batch, DeadLetter, Mend, Written
from indexer.writer import Writer
from schemas.ids import Nsid, Rkey

SOURCE: Final = "writer"
ROUNDS: Final = 3  # what fails for several reasons is found one reason after the other
SUSPECTS: Final = ("changes", "accounts", "identities", "images", "waiting")  # fields that strangers fill

log = structlog.get_logger()


class Part(NamedTuple):
    """One thing in a batch that came from outside; `path`: the record of a fetched repo."""

    field: str
    place: int
    path: tuple[Nsid, Rkey] | None = None


def write(writer: Writer, batch: Batch) -> Written:
    """Write a batch, if need be without some parts. Raises StoreError, and what is no part's fault."""
    for _ in range(ROUNDS):
        try:
            return writer.write(batch)
        except BaseException as error:
            # DuckDB also says what it cannot store; damage it says, too, and that is a StoreError by now.
            if faults.is_fatal(error) and not isinstance(error, duckdb.Error):
                raise
            if not (parts := list(_parts(batch))) or _fails(writer, _with_only(batch, ())):
                raise
            reason = faults.reason("write", error)
        culprits = _culprits(writer, batch, parts)
        log.warning("left out of a batch", parts=len(culprits), of=len(parts))
        letters = [_letter(batch, culprit, reason) for culprit in culprits]
        batch = _with_only(batch, set(parts).difference(culprits))
        batch.dead_letters = [*batch.dead_letters, *letters]
    return writer.write(batch)


def _culprits(writer: Writer, batch: Batch, parts: Sequence[Part]) -> list[Part]:
    """Of parts that fail together, those that fail by themselves; all of them if none does."""
    if len(parts) == 1:
        return list(parts)
    middle = len(parts) // 2
    found: list[Part] = []
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


def _parts(batch: Batch) -> Iterator[Part]:
    for field in SUSPECTS:
        yield from (Part(field, place) for place in range(len(getattr(batch, field))))
    for place, mend in enumerate(batch.mends):
        yield from (Part("mends", place, path) for path in (mend.fetched.records if mend.fetched else ()))


def _with_only(batch: Batch, parts: Collection[Part]) -> Batch:
    """The batch with these of its parts, and all that is our own."""
    kept: dict[str, Any] = {
        field: [item for place, item in enumerate(getattr(batch, field)) if Part(field, place) in parts]
        for field in SUSPECTS
    }
    mends = [_mend_with_only(mend, place, parts) for place, mend in enumerate(batch.mends)]
    return replace(batch, **kept, mends=mends)


def _mend_with_only(mend: Mend, place: int, parts: Collection[Part]) -> Mend:
    if mend.fetched is None:
        return mend
    records = {
        path: record for path, record in mend.fetched.records.items() if Part("mends", place, path) in parts
    }
    return replace(mend, fetched=replace(mend.fetched, records=records))


def _letter(batch: Batch, part: Part, reason: str) -> DeadLetter:
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
