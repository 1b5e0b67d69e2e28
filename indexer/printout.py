"""Reports of checks, audits and dead letters -> lines for whoever reads them at a terminal."""

from collections import Counter
from collections.abc import Iterator

from indexer import diagnosis
from indexer.audit import Outcome
from indexer.batch import DeadLetter
from indexer.check import Report
from indexer.letters import Listing


def of_check(report: Report) -> Iterator[str]:
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
    """How many repos were compared, and what came of it."""
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.most_common() if count)
    return f"{outcomes.total():,} repos compared{': ' if told else '.'}{told}{'.' if told else ''}"


def of_letter(letter: DeadLetter) -> Iterator[str]:
    """The whole of one."""
    yield f"received: {letter.received_at:%Y-%m-%d %H:%M:%S.%f} UTC from {letter.source}"
    yield f"number: {letter.seq if letter.seq is not None else 'none'}, account: {letter.did or 'unknown'}"
    yield f"reason: {letter.reason}"
    yield diagnosis.explain(letter.raw)


def of_listing(listing: Listing) -> Iterator[str]:
    """A line for each."""
    for letter in listing.letters:
        when, seq = f"{letter.received_at:%Y-%m-%d %H:%M:%S}", "-" if letter.seq is None else letter.seq
        where = f"{letter.source} {seq} {letter.did or '-'}"
        yield f"{letter.name}  {when}  {where}  {letter.bytes:,} bytes: {letter.reason.splitlines()[0]}"
    yield f"{len(listing.letters):,} of {listing.total:,} dead letters."
