"""Detects that the system clock was set: a clock set wrongly would end weeks of grace at once."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

LONG_ENOUGH = timedelta(hours=6)  # in which a wrong clock is corrected or noticed
APART = timedelta(minutes=5)  # more than clocks are adjusted by without being set


class SteadyClock:
    """Compares the system clock with the monotonic one, which cannot be set, at each call."""

    def __init__(self, now: Callable[[], datetime], elapsed: Callable[[], float] = time.monotonic) -> None:
        """`elapsed`: seconds since any moment."""
        self._now = now
        self._elapsed = elapsed
        self._since = elapsed()
        self._offset = self._measured()

    def __call__(self) -> bool:
        """Whether the clock was not set for LONG_ENOUGH, as far as this process knows."""
        offset = self._measured()
        if abs(offset - self._offset) > APART:
            self._since, self._offset = self._elapsed(), offset
        return timedelta(seconds=self._elapsed() - self._since) >= LONG_ENOUGH

    def _measured(self) -> timedelta:
        return timedelta(seconds=self._now().timestamp() - self._elapsed())
