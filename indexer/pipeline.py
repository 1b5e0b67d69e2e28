"""THE ORDER: read this first.

frames -> events -> one batch -> one transaction -> what follows from it. Downwards is the way of a record.
Facts that we fetch ourselves (identities, image sizes, nudged records) enter the same batch: one way in.
"""

import contextlib
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Container
from datetime import datetime

import structlog

from indexer import dialects, faults
from indexer.batch import Batch, DeadLetter, Mark, Picture, Written
from indexer.errands import Errands
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
from indexer.follower import Follower
from indexer.glance import Glance
from indexer.intake import Intake
from indexer.judge import Judge
from indexer.lag import Lag
from indexer.repos import Repos
from indexer.sources import Source
from schemas.ids import Did, Nsid

GAPS = ("OutdatedCursor", "FutureCursor")  # what a source says when events are lost, or numbered anew

_UNNUMBERED = (Info, StreamError)

log = structlog.get_logger()


class Pipeline:
    """Takes one source's frames into the intake, and hands on what each transaction asks for."""

    def __init__(
        self,
        source: Source,
        collections: frozenset[Nsid],
        repos: Repos,
        *,
        cursor: int | None,
        intake: Intake,
        identities: Errands[Did],
        pictures: Errands[Picture],
        follower: Follower,
        judge: Judge,
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
        self._judge = judge
        self._gap = gap
        self._heard = heard
        self._begins_anew = False
        source.finished = lambda: self.finished
        intake.written = self.written

    async def read(self, *, anew: bool = False) -> None:
        """Until the source ends; waiting here, when too much is held, makes the network wait.

        `anew`: another source was followed before, and what lies before the first event of this may be lost.
        """
        self._begins_anew = anew
        reading = understood(self._source, self.finished, self._collections, self._repos)
        async with contextlib.aclosing(reading) as frames:
            async for frame, events in frames:
                if self._begins_anew:
                    self._begins_anew = False
                    self._gap()
                self.events[Passed.__name__] += frame.passed
                for event in events:
                    self._judged(event, frame)
                    self._move(event, frame)
                await self._intake.room()

    def again(self, letter: DeadLetter) -> bool:
        """Take a dead letter's frame once more; the cursor stays. False: it still cannot be used."""
        frame, batch = Frame(letter.source, letter.raw, letter.received_at), self._intake.batch
        events = dialects.understood(dialects.decoder(letter.source), frame, self._collections, self._repos)
        if any(isinstance(event, Malformed) for event in events):
            return False
        refused_before = len(batch.dead_letters)
        for event in events:
            self._judged(event, frame)
        batch.settled.append(letter)
        self._intake.added(1)
        return len(batch.dead_letters) == refused_before

    def _judged(self, event: Event, frame: Frame) -> None:
        """Put an event into the batch; one that cannot be judged as a dead letter, its repo to be fetched."""
        try:
            self._take(event, frame)
        except BaseException as error:
            if faults.is_fatal(error):
                raise
            reason = faults.reason("judge", error)
            if not isinstance(event, Malformed):
                self._judged(dialects.salvaged(frame.source, frame.raw, reason), frame)

    def _take(self, event: Event, frame: Frame) -> None:
        """Put an event into the batch."""
        batch = self._intake.batch
        self.events[type(event).__name__] += 1
        match event:
            case Passed():
                pass
            case Commit():
                self._judge.commit(event, frame, batch)
                self._heard(event.did)
                self._intake.added(len(event.operations), len(frame.raw))
            case Unverified():
                self._judge.unverified(event, batch)
                self._heard(event.did)
                self._intake.added(len(event.operations), len(frame.raw))
            case Sync():
                self._judge.sync(event, frame, batch)
                self._intake.added(1)
            case Account():
                self._judge.account(event, batch)
                self._intake.added(1)
            case Identity():
                self._judge.identity(event, batch)
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
                    self._judge.happened("faulty commit", Did(event.did), batch, event.reason)
                self._intake.added(1, len(event.raw))
            case Info() | StreamError():
                log.warning("stream says", source=frame.source, name=event.name, message=event.message)
                if event.name in GAPS:
                    self._gap()
                    # After an error comes another stream: what lies before its first event is lost too.
                    self._begins_anew = isinstance(event, StreamError)

    def _move(self, event: Event, frame: Frame) -> None:
        """All events up to this one are in this batch or an earlier one: the cursor goes with them."""
        if isinstance(event, _UNNUMBERED) or event.seq is None:
            return
        event_time = None if isinstance(event, Malformed) else event.time
        if event_time is not None and event_time > frame.received_at:
            event_time = frame.received_at  # Whatever takes this source's place goes on at this time.
        self._intake.batch.cursors[frame.source] = Mark(event.seq, event_time)
        self._intake.added()

    def written(self, batch: Batch, written: Written) -> None:
        """A transaction is committed: move on, and set in motion what follows from it."""
        for did, known in written.mended.items():
            self._repos.mended(did, known)
        for did in written.removed:
            self._judge.happened("removed", did, self._intake.batch, "the account is deleted")
        for did in written.doubtful:
            self._judge.happened("doubt", did, self._intake.batch, "the account came back or moved")
            self._intake.added(1)
        if mark := batch.cursors.get(self._source.name):
            self.finished, self.moved_at = mark.seq, time.monotonic()
            if mark.event_time is not None:
                self.event_time = mark.event_time
                self.lag.committed(mark.event_time)
        self._identities.ask(written.unresolved)
        self._pictures.ask(written.unmeasured)
        self._follower.committed(written.op)


async def understood(
    source: Source, after: int | None, collections: frozenset[Nsid], tracked: Container[Did]
) -> AsyncGenerator[tuple[Frame, tuple[Event, ...]], None]:
    """Yield the frames that follow `after`, and what they mean; strangers' are let go where they may."""
    source.glance = Glance(collections, tracked)
    async with contextlib.aclosing(source.frames(after)) as frames:
        async for frame in frames:
            yield frame, dialects.understood(source.decode, frame, collections, tracked)


def _dead_letter(event: Malformed, frame: Frame) -> DeadLetter:
    return DeadLetter(frame.received_at, frame.source, event.seq, event.did, event.reason, event.raw)
