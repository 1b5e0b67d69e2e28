"""How far our clock is from other people's: the median over the hosts that we ask, so that no liar moves it.

Revs and statuses are held to our clock. One that is behind refuses new commits as lying in the future and
dates deletions too early; one that is fast lets through what it should not.
"""

import statistics
import time
from collections import OrderedDict
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Final

FEW_HOSTS: Final = 3  # less than so many say nothing
MOST_HOSTS: Final = 100
HEARD_SECONDS: Final = 3600.0  # how long a host's word counts
AGAIN_SECONDS: Final = 60.0  # before the same host is listened to again


class ClockOffset:
    """Listens to the `Date` of answers. Hosts of one domain count as one: names below it cost nothing."""

    def __init__(
        self, clock: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._steady = steady
        self._said: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def heard(self, host: str | None, date: str | None) -> None:
        """A host's answer came just now, with this `Date`."""
        if not host or not date:
            return
        name, now = _domain(host), self._steady()
        if name in self._said and now - self._said[name][0] < AGAIN_SECONDS:
            return
        try:
            theirs = parsedate_to_datetime(date[:64]).timestamp()
        except (ValueError, OverflowError):
            return
        self._said[name] = now, theirs - self._clock()
        self._said.move_to_end(name)
        if len(self._said) > MOST_HOSTS:
            self._said.popitem(last=False)

    @property
    def seconds(self) -> float | None:
        """How far the others are ahead of us, to a second or two; None while too few have spoken."""
        since = self._steady() - HEARD_SECONDS
        offsets = [offset for at, offset in self._said.values() if at >= since]
        return statistics.median(offsets) if len(offsets) >= FEW_HOSTS else None


def _domain(host: str) -> str:
    labels = host.lower().rstrip(".").split(".")
    return host if labels[-1].isdigit() or ":" in host else ".".join(labels[-2:])
