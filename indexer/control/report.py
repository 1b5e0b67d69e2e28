"""Formats checks, audits and dead letters as lines for the operator's terminal."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import libipld
import orjson

from indexer.catalog.tables.dead_letters import DeadLetter
from indexer.control.check import CheckReport
from indexer.control.dead_letters import DeadLetterList
from indexer.repo import car
from indexer.sync.audit import Outcome

MAX_BYTES_SHOWN: Final = 64

ROW: Final = 16


def of_check(report: CheckReport) -> Iterator[str]:
    """Counts, cursors and problems."""
    for table, count in report.counts.items():
        yield f"{table}: {count:,} rows"
    for cursor in report.cursors:
        lag = "unknown" if cursor.lag_seconds is None else f"{cursor.lag_seconds:,.1f} s"
        yield f"cursor of {cursor.source}: {cursor.seq} at {cursor.event_time or 'no time'}, lag {lag}"
    watermark = "in use" if report.watermark is None else report.watermark
    yield f"outbox: {report.op}, search index: {watermark}"
    yield from report.problems or ("No problem found.",)


def of_audit(outcomes: Counter[Outcome]) -> str:
    """The number of repos compared, and the number by outcome."""
    listed = ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.most_common() if count)
    return f"{outcomes.total():,} repos compared{': ' if listed else '.'}{listed}{'.' if listed else ''}"


def of_letter(letter: DeadLetter) -> Iterator[str]:
    """One letter with its whole content."""
    yield f"received: {letter.received_at:%Y-%m-%d %H:%M:%S.%f} UTC from {letter.source}"
    yield f"number: {letter.seq if letter.seq is not None else 'none'}, account: {letter.did or 'unknown'}"
    yield f"reason: {letter.reason}"
    yield explain_bytes(letter.raw)


def of_listing(listing: DeadLetterList) -> Iterator[str]:
    """A line for each letter, and the totals."""
    for letter in listing.letters:
        when, seq = f"{letter.received_at:%Y-%m-%d %H:%M:%S}", "-" if letter.seq is None else letter.seq
        where = f"{letter.source} {seq} {letter.did or '-'}"
        yield f"{letter.name}  {when}  {where}  {letter.bytes:,} bytes: {letter.reason.splitlines()[0]}"
    yield f"{len(listing.letters):,} of {listing.total:,} dead letters."


def explain_bytes(raw: bytes) -> str:
    """JSON as it is, DAG-CBOR as JSON with bytes and CIDs marked, anything else as hex."""
    try:
        parts = [orjson.loads(raw)] if raw.startswith(b"{") else libipld.decode_dag_cbor_multi(raw)
        return "\n".join(
            orjson.dumps(_plain(part), option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
            for part in parts
        )
    except (ValueError, TypeError, RecursionError):
        return "\n".join(_hex(raw))


def _plain(value: Any) -> Any:
    match value:
        case bytes():
            return _marked(value)
        case dict():
            return {name: _plain(item) for name, item in value.items()}
        case list():
            return [_plain(item) for item in value]
    return value


def _marked(value: bytes) -> str:
    if car.is_cid(value) or (len(value) == car.CID_BYTES and value.startswith(b"\x01\x55\x12\x20")):
        return f"cid({libipld.encode_multibase('b', value)})"
    shown = value[:MAX_BYTES_SHOWN].hex()
    return f"h'{shown}'" if len(value) <= MAX_BYTES_SHOWN else f"h'{shown}…' of {len(value):,} bytes"


def _hex(raw: bytes) -> Iterator[str]:
    for at in range(0, len(raw), ROW):
        row = raw[at : at + ROW]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield f"{at:08x}  {row.hex(' '):<{3 * ROW}} {text}"
