"""Follows one labeler: its stream of labels from the stored cursor, and queryLabels for what was missed."""

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog
from yarl import URL

from indexer import faults
from indexer.catalog.tables.cursors import ListProgress, StreamCursor
from indexer.catalog.tables.dead_letters import DeadLetter
from indexer.catalog.writing.intake import Intake
from indexer.events import Frame
from indexer.labels import inquiry
from indexer.labels.inquiry import Inquiry
from indexer.labels.labeler import Checked, Labeler, NoLabeler
from indexer.network.http.client import OutboundError
from indexer.network.websockets import WebSocketClient
from indexer.stream import envelope
from indexer.stream.envelope import Body, Unreadable
from indexer.stream.websocket.stream import Stream
from schemas.backoff import Backoff
from schemas.labels import LabelKey

METHOD: Final = "com.atproto.label.subscribeLabels"
MOST_IN_A_FRAME: Final = 1_000
AGAIN_SECONDS: Final = 24 * 3600.0  # after which a labeler is asked for all that it says of our accounts
BACKOFF: Final = Backoff(first_seconds=1.0, longest_seconds=300.0)
_LOST: Final = ("OutdatedCursor", "FutureCursor")

log = structlog.get_logger()


class Subscription:
    """One labeler that the operator named. `cursor`: where its stream was committed up to."""

    def __init__(
        self,
        labeler: Labeler,
        client: WebSocketClient,
        intake: Intake,
        asking: Inquiry,
        *,
        cursor: int | None,
        asked: ListProgress | None,
        backoff: Backoff = BACKOFF,
    ) -> None:
        self.labeler = labeler
        self._client = client
        self._intake = intake
        self._inquiry = asking
        self._cursor = cursor
        self._refused: int | None = None  # a cursor that the labeler does not know
        self._backoff = backoff
        self._missed = asyncio.Event()
        self._streamed: set[LabelKey] | None = (
            None  # labels of the stream since a question; None: none is open
        )
        self._asked_at = datetime.now(UTC)
        self._is_new = asked is None
        if asked is not None and asked.finished_at is not None:
            self._asked_at = asked.finished_at
        elif asked is not None:
            self._missed.set()  # the last run ended before all was asked

    async def run(self) -> None:
        """Follow the labeler until cancelled. A new one's stream is read from its beginning first."""
        if self._is_new:
            self._answered(self._asked_at)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow())
            group.create_task(self._ask())

    async def _follow(self) -> None:
        failures = 0
        while True:
            try:
                endpoint = await self.labeler.find_endpoint()
                failures = 0
                await self._read(endpoint.url)
            except (OutboundError, NoLabeler) as error:
                failures += 1
                log.warning("labeler not followed", labeler=self.labeler.did, reason=str(error)[:200])
            await asyncio.sleep(self._backoff.pause(max(failures, 1)))

    async def _read(self, url: str) -> None:
        """Read the stream until the labeler is to be found elsewhere. Raises OutboundError and NoLabeler."""
        address = URL(url.replace("http", "ws", 1)).joinpath("xrpc", METHOD)
        stream = Stream(
            self.labeler.did,
            self._client,
            address=lambda: address.with_query(cursor=self._start()),
            farewell=self._farewell,
            backoff=self._backoff,
        )
        async with contextlib.aclosing(stream.frames()) as frames:
            async for frame in frames:
                await self._take(frame)
                if (await self.labeler.find_endpoint()).url != url:
                    return

    def _start(self) -> int:
        """The cursor of a new connection: 0 asks for all that the labeler still has."""
        return 0 if self._cursor is None or self._cursor == self._refused else self._cursor

    def _farewell(self, raw: bytes) -> str | None:
        """An error frame as a sentence; None for any other frame."""
        try:
            kind, body = envelope.unwrap_frame(raw)
        except Unreadable:
            return None
        if kind is not None:
            return None
        name, message = envelope.read_note(body, "error")
        if name in _LOST:
            self._refused = self._cursor
            self._lost()
        return f"{self.labeler.did} ended the stream: {name}. {message}".rstrip()

    async def _take(self, frame: Frame) -> None:
        """Put a frame's labels, and the cursor with them, into the batch."""
        try:
            kind, body = envelope.unwrap_frame(frame.raw)
            if kind == "#info" and envelope.read_note(body, "name")[0] in _LOST:
                self._lost()
            if kind != "#labels":
                return
            seq = envelope.read_seq(body)
            checked = await self._check(body, seq)
        except Unreadable as fault:
            self._keep(Checked([], [self._letter(frame, str(fault))]), envelope.seq_of(frame.raw))
        except (OutboundError, NoLabeler):
            raise
        except BaseException as error:
            if faults.is_fatal(error):
                raise
            reason = faults.record_fault("label", error)
            self._keep(Checked([], [self._letter(frame, reason)]), envelope.seq_of(frame.raw))
        else:
            self._keep(checked, seq)
        await self._intake.room()

    async def _check(self, body: Body, seq: int) -> Checked:
        labels = body.get("labels")
        if not isinstance(labels, list) or len(labels) > MOST_IN_A_FRAME:
            raise Unreadable(f"labels is not a list of at most {MOST_IN_A_FRAME:,}")
        return await self.labeler.check(labels, seq)

    def _keep(self, checked: Checked, seq: int | None) -> None:
        batch = self._intake.batch
        batch.labels += checked.labels
        if self._streamed is not None:
            self._streamed.update(label.key for label in checked.labels)
        batch.dead_letters += checked.refused
        if seq is not None:
            self._cursor = seq
            batch.cursors[self.labeler.did] = StreamCursor(seq, None)
        self._intake.added(len(checked.labels) + len(checked.refused))

    def _letter(self, frame: Frame, reason: str) -> DeadLetter:
        return DeadLetter(
            frame.received_at, self.labeler.did, envelope.seq_of(frame.raw), None, reason, frame.raw
        )

    def _lost(self) -> None:
        """Labels are lost on the stream: ask for all, also after a restart."""
        self._intake.batch.listings.append(ListProgress(self.labeler.did, inquiry.METHOD))
        self._intake.added(1)
        self._missed.set()

    async def _ask(self) -> None:
        """Ask for all that the labeler says of our accounts: after a loss at once, else every day."""
        failures = 0
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._seconds_left()):
                    await self._missed.wait()
            self._missed.clear()
            began = datetime.now(UTC)
            self._streamed = set()
            try:
                await self._inquiry.ask_all(self.labeler, self._streamed)
            except (OutboundError, NoLabeler) as error:
                failures += 1
                log.warning("labeler not asked", labeler=self.labeler.did, reason=str(error)[:200])
                await asyncio.sleep(self._backoff.pause(failures))
                self._missed.set()
            else:
                failures = 0
                self._answered(began)
            finally:
                self._streamed = None

    def _answered(self, at: datetime) -> None:
        if not self._missed.is_set():
            self._asked_at = at
            self._intake.batch.listings.append(ListProgress(self.labeler.did, inquiry.METHOD, finished_at=at))
            self._intake.added(1)

    def _seconds_left(self) -> float:
        """Until the labeler is asked again."""
        since = self._asked_at + timedelta(seconds=AGAIN_SECONDS) - datetime.now(UTC)
        return max(0.0, since.total_seconds())
