"""Our clock's offset from other hosts: the median over their `Date` headers, so that no one host moves it.

Revs and statuses are compared with our clock. A clock that is behind refuses new commits as lying in the
future and dates deletions too early; a clock that is fast accepts revs that it should refuse.
"""

import statistics
import time
from collections import OrderedDict
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Final

FEW_HOSTS: Final = 3  # fewer hosts give no offset
MOST_HOSTS: Final = 100
HEARD_SECONDS: Final = 3600.0  # how long a host's offset counts
AGAIN_SECONDS: Final = 60.0  # between two offsets of the same host


class ClockOffset:
    """Collects the `Date` of answers. Hosts of one domain count as one, because subdomains cost nothing."""

    def __init__(
        self, clock: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._steady = steady
        self._said: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def heard(self, host: str | None, date: str | None) -> None:
        """Note the `Date` of an answer that was received just now."""
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
        """How far other hosts' clocks are ahead of ours, to a second or two; None with too few hosts."""
        since = self._steady() - HEARD_SECONDS
        offsets = [offset for at, offset in self._said.values() if at >= since]
        return statistics.median(offsets) if len(offsets) >= FEW_HOSTS else None


def _domain(host: str) -> str:
    labels = host.lower().rstrip(".").split(".")
    return host if labels[-1].isdigit() or ":" in host else ".".join(labels[-2:])
