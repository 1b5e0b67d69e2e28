"""THE ORDER: read this first.

frames -> events -> one batch -> one transaction -> its follow-up work (resyncs, identities, image sizes).
Facts that we fetch ourselves (identities, image sizes, nudged records) enter the same batch.
"""

import contextlib
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Container
from datetime import datetime

import structlog

from indexer import faults
from indexer.catalog.tables.cursors import StreamCursor
from indexer.catalog.tables.dead_letters import DeadLetter
from indexer.catalog.tables.images import Picture
from indexer.catalog.writing.batch import Batch, BatchResult
from indexer.catalog.writing.intake import Intake
from indexer.events import (
    Account,
    Commit,
    Event,
    Frame,
    Identity,
    Info,
    Malformed,
    Passed,
    StreamError,
    Sync,
    Unverified,
)
from indexer.network.retry_queue import RetryQueue
from indexer.search.follower import Follower
from indexer.stream import Source, dialects
from indexer.stream.lag import Lag
from indexer.stream.prefilter import Prefilter
from indexer.sync.apply_event import EventApplier
from indexer.sync.states import Repos
from schemas.ids import Did, Nsid

GAPS = ("OutdatedCursor", "FutureCursor")  # sent by a source when events are lost, or renumbered

_UNNUMBERED = (Info, StreamError)

log = structlog.get_logger()


class Pipeline:
    """Puts one source's events into the intake, and starts the follow-up work of each transaction."""

    def __init__(
        self,
        source: Source,
        collections: frozenset[Nsid],
        repos: Repos,
        *,
        cursor: int | None,
        intake: Intake,
        identities: RetryQueue[Did],
        pictures: RetryQueue[Picture],
        follower: Follower,
        applier: EventApplier,
        gap: Callable[[], None],
        heard: Callable[[Did], None] = lambda did: None,
    ) -> None:
        self.events: Counter[str] = Counter()
        self.finished = cursor
        self.event_time: datetime | None = None
        self.moved_at = time.monotonic()
        self.lag = Lag(source.status)
        self._source = source
        self._collections = collections
        self._repos = repos
        self._intake = intake
        self._identities = identities
        self._pictures = pictures
        self._follower = follower
        self._applier = applier
        self._gap = gap
        self._heard = heard
        self._begins_anew = False
        source.finished = lambda: self.finished
        intake.written = self.written
        intake.is_held, follower.rested = lambda: follower.is_at_work, intake.release

    async def read(self, *, anew: bool = False) -> None:
        """Process frames until the source ends. While too much is uncommitted, this waits.

        `anew`: another source was followed before, so events before the first one of this source may be lost.
        """
        self._begins_anew = anew
        reading = decode_frames(self._source, self.finished, self._collections, self._repos)
        async with contextlib.aclosing(reading) as frames:
            async for frame, events in frames:
                if self._begins_anew:
                    self._begins_anew = False
                    self._gap()
                self.events[Passed.__name__] += frame.passed
                for event in events:
                    self._apply(event, frame)
                    self._move(event, frame)
                await self._intake.room()

    def again(self, letter: DeadLetter) -> bool:
        """Process a dead letter's frame again; the cursor stays. False: it still cannot be used."""
        frame, batch = Frame(letter.source, letter.raw, letter.received_at), self._intake.batch
        events = dialects.decode_safely(
            dialects.decoder_of(letter.source), frame, self._collections, self._repos
        )
        if any(isinstance(event, Malformed) for event in events):
            return False
        refused_before = len(batch.dead_letters)
        for event in events:
            self._apply(event, frame)
        batch.settled.append(letter)
        self._intake.added(1)
        return len(batch.dead_letters) == refused_before

    def _apply(self, event: Event, frame: Frame) -> None:
        """Put an event into the batch. If that raises, keep the frame as a dead letter and fetch its repo."""
        try:
            self._take(event, frame)
        except BaseException as error:
            if faults.is_fatal(error):
                raise
            reason = faults.record_fault("judge", error)
            if not isinstance(event, Malformed):
                self._apply(dialects.salvage_frame(frame.source, frame.raw, reason), frame)

    def _take(self, event: Event, frame: Frame) -> None:
        """Put an event into the batch."""
        batch = self._intake.batch
        self.events[type(event).__name__] += 1
        match event:
            case Passed():
                pass
            case Commit():
                self._applier.commit(event, frame, batch)
                self._heard(event.did)
                self._intake.added(len(event.operations), len(frame.raw))
            case Unverified():
                self._applier.unverified(event, batch)
                self._heard(event.did)
                self._intake.added(len(event.operations), len(frame.raw))
            case Sync():
                self._applier.sync(event, frame, batch)
                self._intake.added(1)
            case Account():
                self._applier.account(event, batch)
                self._intake.added(1)
            case Identity():
                self._applier.identity(event, batch)
                self._intake.added(1)
            case Malformed():
                log.warning(
                    "malformed",
                    source=frame.source,
                    seq=event.seq,
                    did=event.did,
                    reason=event.reason.splitlines()[0],
                )
                batch.dead_letters.append(_dead_letter(event, frame))
                if event.did is not None:
                    self._applier.happened("faulty commit", Did(event.did), batch, event.reason)
                self._intake.added(1, len(event.raw))
            case Info() | StreamError():
                log.warning("stream says", source=frame.source, name=event.name, message=event.message)
                if event.name in GAPS:
                    self._gap()
                    # After an error the stream begins anew: events before its first one may be lost too.
                    self._begins_anew = isinstance(event, StreamError)

    def _move(self, event: Event, frame: Frame) -> None:
        """Move the cursor to this event: all events up to it are in this batch or an earlier one."""
        if isinstance(event, _UNNUMBERED) or event.seq is None:
            return
        event_time = None if isinstance(event, Malformed) else event.time
        if event_time is not None and event_time > frame.received_at:
            event_time = frame.received_at  # A source that replaces this one begins at this time.
        self._intake.batch.cursors[frame.source] = StreamCursor(event.seq, event_time)
        self._intake.added()

    def written(self, batch: Batch, written: BatchResult) -> None:
        """A transaction is committed: advance the cursor, and start its follow-up work."""
        for did, known in written.resynced.items():
            self._repos.resynced(did, known)
        for did in written.removed:
            self._applier.happened("removed", did, self._intake.batch, "the account is deleted")
        for did in written.doubtful:
            self._applier.happened("doubt", did, self._intake.batch, "the account came back or moved")
            self._intake.added(1)
        if mark := batch.cursors.get(self._source.name):
            self.finished, self.moved_at = mark.seq, time.monotonic()
            if mark.event_time is not None:
                self.event_time = mark.event_time
                self.lag.committed(mark.event_time)
        self._identities.ask(written.unresolved)
        self._pictures.ask(written.unmeasured)
        self._follower.committed(written.op)


async def decode_frames(
    source: Source, after: int | None, collections: frozenset[Nsid], tracked: Container[Did]
) -> AsyncGenerator[tuple[Frame, tuple[Event, ...]], None]:
    """Yield the frames after `after` with their events; the prefilter drops most irrelevant frames."""
    source.prefilter = Prefilter(collections, tracked)
    async with contextlib.aclosing(source.frames(after)) as frames:
        async for frame in frames:
            yield frame, dialects.decode_safely(source.decode, frame, collections, tracked)


def _dead_letter(event: Malformed, frame: Frame) -> DeadLetter:
    return DeadLetter(frame.received_at, frame.source, event.seq, event.did, event.reason, event.raw)
