"""How far the index is behind the network, in seconds."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from indexer.stream import Status

QUIET = timedelta(seconds=2)  # a connected source that sends no frame for so long has nothing to send


def _now() -> datetime:
    return datetime.now(UTC)


class Lag:
    """Tracks the instant up to which all events of the network are known to be committed.

    That instant is the time of the last committed event; or the present, while the source is connected and
    silent and no frame waits to be committed. Call `look` about every second.
    """

    def __init__(self, status: Status, now: Callable[[], datetime] = _now) -> None:
        self._status = status
        self._now = now
        self._current_at: datetime | None = None
        self._connected_at: datetime | None = None
        self._was_connected = False

    def committed(self, event_time: datetime) -> None:
        """Everything up to an event of this time is committed."""
        self._current_at = event_time

    def look(self, nothing_waits: bool) -> None:
        """Update the instant. `nothing_waits`: every received frame is committed."""
        now = self._now()
        if not self._status.connected:
            self._connected_at = None
            return
        self._was_connected = True
        self._connected_at = self._connected_at or now
        heard_at = max(self._status.last_frame_at or self._connected_at, self._connected_at)
        if nothing_waits and now - heard_at >= QUIET:
            self._current_at = now

    def seconds(self) -> float | None:
        """The lag in seconds; None until the source was reached and an event is committed."""
        if not self._was_connected or self._current_at is None:
            return None
        return max(0.0, (self._now() - self._current_at).total_seconds())
