"""Whether the clock goes on as time does: one that was set wrongly would end weeks of grace in a moment."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

LONG_ENOUGH = timedelta(hours=6)  # in which a clock that is wrong is set, or somebody is told
APART = timedelta(minutes=5)  # more than clocks are adjusted by without being set


class Steady:
    """Asked now and then; compares the clock with the steady one, which nobody can set."""

    def __init__(self, now: Callable[[], datetime], elapsed: Callable[[], float] = time.monotonic) -> None:
        """`elapsed`: seconds since any moment."""
        self._now = now
        self._elapsed = elapsed
        self._since = elapsed()
        self._offset = self._measured()

    def __call__(self) -> bool:
        """Was the clock not set for hours, as far as this process knows?"""
        offset = self._measured()
        if abs(offset - self._offset) > APART:
            self._since, self._offset = self._elapsed(), offset
        return timedelta(seconds=self._elapsed() - self._since) >= LONG_ENOUGH

    def _measured(self) -> timedelta:
        return timedelta(seconds=self._now().timestamp() - self._elapsed())
