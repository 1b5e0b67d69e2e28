"""The feed of one worker: follows the log, and sends each change to all who want it.

Clients that want the same form a group, for which the bytes of a change are made once. Clients that want
cards get a change once the search index shows it, or after five seconds.
"""

import asyncio
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from readapi.errors import InvalidRequest
from readapi.http.asgi import StreamLimits
from readapi.index import present
from readapi.index.lookups import Index
from readapi.index.queries import tracks
from readapi.live.event import Event
from readapi.live.log_identity import log_identity
from readapi.live.log_reader import LogReader, oldest_position
from readapi.live.subscriber import Subscriber, Wanted
from readapi.live.withdrawn import Withdrawn
from readapi.metrics import Metrics
from schemas import data_folder
from schemas.change_log import Change
from schemas.settings import Settings

LOOK_SECONDS: Final = 0.025
HEARTBEAT_SECONDS: Final = 15.0
CARD_SECONDS: Final = 5.0  # how long a change waits for the search index
AT_ONCE: Final = 100  # changes that are sent before other work of the worker has its turn
REPLAY_BYTES: Final = 32 << 10  # of the log that each client which catches up may hold at a time


class Feed:
    """Call `step` again and again. All calls are on the event loop.

    `log`: identifies the change log that the positions belong to.
    """

    def __init__(self, settings: Settings, index: Index) -> None:
        self.limits = StreamLimits(settings.live_clients, settings.live_clients_of_one, seconds=float("inf"))
        self.delivered = 0
        self.log = log_identity(settings.data_dir)
        self._folder = settings.data_dir / data_folder.CHANGES
        self._index = index
        self._reader = LogReader.at_end(self._folder)
        self._withdrawn = Withdrawn(self._folder)
        self._groups: dict[Wanted, set[Subscriber]] = {}
        self._waiting: deque[tuple[Event, float]] = deque()  # for the search index, and until when
        # One alone: it reads what is withdrawn once for all, and closes a reader after its last call.
        self._replay_thread = ThreadPoolExecutor(1, thread_name_prefix="live-replay")
        self._heartbeat_at = time.monotonic() + HEARTBEAT_SECONDS
        self._closed = False

    @property
    def position(self) -> int:
        """Of the newest change that was sent."""
        return self._reader.position

    async def step(self) -> None:
        """Send what was logged since the last step."""
        while self._groups and (changes := self._reader.read()):
            for start in range(0, len(changes), AT_ONCE):
                self._send([Event(change) for change in changes[start : start + AT_ONCE]])
                await asyncio.sleep(0)
        while not self._groups and self._reader.skip():  # noqa: ASYNC110  # others have their turn
            await asyncio.sleep(0)
        self._send_with_cards()
        if time.monotonic() >= self._heartbeat_at:
            self._beat()

    async def serve(self, subscriber: Subscriber, cursor: int | None) -> None:
        """Send a client everything after a cursor, or from now on, until it ends."""
        if cursor is not None:
            await self._replay(subscriber, cursor)
        group = self._groups.setdefault(subscriber.wanted, set())
        group.add(subscriber)
        if self._closed:
            subscriber.ended.set()
        try:
            await subscriber.ended.wait()
        finally:
            group.discard(subscriber)
            if not group and self._groups.get(subscriber.wanted) is group:
                del self._groups[subscriber.wanted]

    def require(self, cursor: int | None) -> None:
        """Refuse a cursor in the future. Raises InvalidRequest."""
        if cursor is None or cursor <= self.position:
            return
        # A client of another worker may have received what this one has not read yet.
        newest = LogReader.at_end(self._folder)
        newest.close()
        if cursor > newest.position:
            raise InvalidRequest.of_field("cursor", "It is later than the newest change.")

    def is_outdated(self, cursor: int | None) -> bool:
        """Whether changes after the cursor are no longer kept."""
        return cursor is not None and cursor < oldest_position(self._folder)

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        for group in self._groups.values():
            for subscriber in group:
                subscriber.ended.set()
        self._reader.close()
        self._replay_thread.submit(self._withdrawn.close)
        self._replay_thread.shutdown(wait=True)

    def watch(self, metrics: Metrics) -> None:
        """Register the counts as metrics."""
        metrics.watch("fmsvc_live_clients", "Clients of the live feed.", lambda: self.limits.open)
        metrics.tally("fmsvc_live_delivered", "Changes sent to clients.", lambda: self.delivered)

    async def _replay(self, subscriber: Subscriber, cursor: int) -> None:
        """Send what is logged after the cursor. At its end nothing lies between it and the feed."""
        reader, loop = LogReader(self._folder, cursor, REPLAY_BYTES), asyncio.get_running_loop()
        try:
            while not subscriber.ended.is_set() and not self._closed:
                newest = self.position
                changes = await loop.run_in_executor(self._replay_thread, self._read, reader)
                for start in range(0, len(changes), AT_ONCE):
                    await self._send_old(subscriber, changes[start : start + AT_ONCE])
                # After a change-over the feed's position may be later than the end of the log.
                if not changes and (reader.position >= self.position or self.position == newest):
                    return
        finally:
            # The thread may still be reading for a client that has left.
            if self._closed:
                reader.close()
            else:
                self._replay_thread.submit(reader.close)

    def _read(self, reader: LogReader) -> list[Change]:
        changes = reader.read()
        self._withdrawn.catch_up()
        return changes

    async def _send_old(self, subscriber: Subscriber, changes: list[Change]) -> None:
        events = [event for event in map(Event, changes) if not self._withdrawn.covers(event)]
        if subscriber.wanted.cards:
            try:
                async with asyncio.timeout(CARD_SECONDS):
                    await self._index.reached(max(change.op for change in changes))
            except TimeoutError:
                pass
        self._deliver(events, subscriber.wanted, {subscriber}, changes[-1].position)
        await subscriber.calm()

    def _send(self, events: list[Event]) -> None:
        if any(wanted.cards for wanted in self._groups):
            until = time.monotonic() + CARD_SECONDS
            self._waiting.extend((event, until) for event in events)
        for wanted, group in self._groups.items():
            if not wanted.cards:
                self._deliver(events, wanted, group, events[-1].position)

    def _send_with_cards(self) -> None:
        ready: list[Event] = []
        now = time.monotonic()
        while self._waiting and len(ready) < AT_ONCE:
            event, until = self._waiting[0]
            if event.change.op > self._index.op and until > now:
                break
            self._waiting.popleft()
            ready.append(event)
        if ready:
            for wanted, group in self._groups.items():
                if wanted.cards:
                    self._deliver(ready, wanted, group, ready[-1].position)

    def _deliver(self, events: list[Event], wanted: Wanted, group: set[Subscriber], last: int) -> None:
        """Send these to a group; to a member that has received some of them, the rest."""
        takedowns = self._index.takedowns.now
        events = [event for event in events if not event.is_taken_down(takedowns)]
        if wanted.cards:
            self._add_cards([event for event in events if wanted.filter.admits(event)])
        first = events[0].position if events else last
        content = wanted.bytes_of(events)
        for subscriber in group:
            if subscriber.position < first:
                subscriber.send(content, last)
                self.delivered += len(events)
            elif subscriber.position < last:
                rest = [event for event in events if event.position > subscriber.position]
                subscriber.send(wanted.bytes_of(rest), last)

    def _add_cards(self, events: list[Event]) -> None:
        """The card of the track that each event is of, or about, as strangers see it now."""
        keys = {event.track for event in events if event.track is not None and not event.ends}
        if not keys or not self._index.is_open:
            return
        cards = tracks.filter_visible(self._index.tracks(list(keys)), None, "discovery")
        made = {card.key: present.join_parts(present.render_track(card, None, ())) for card in cards}
        for event in events:
            event.with_card(made.get(event.track) if event.track is not None else None)

    def _beat(self) -> None:
        self._heartbeat_at = time.monotonic() + HEARTBEAT_SECONDS
        for wanted, group in self._groups.items():
            for subscriber in group:
                subscriber.send(wanted.told("heartbeat", subscriber.position), subscriber.position)
