"""How far the index is behind the network, in seconds."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from indexer.sources import Status

QUIET = timedelta(seconds=2)  # without a frame for so long, a connected source has nothing to send


def _now() -> datetime:
    return datetime.now(UTC)


class Lag:
    """Remembers up to which instant everything that happened is known to be committed.

    That is the time of the last committed event; and now, while the source is connected, silent, and nothing
    that it sent is waiting. `look` wants calling every second or so.
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
        """Notice whether there is anything to wait for."""
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
        """None as long as the source was never reached."""
        if not self._was_connected or self._current_at is None:
            return None
        return max(0.0, (self._now() - self._current_at).total_seconds())
