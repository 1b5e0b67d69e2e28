"""Back-off: how long to pause after failures, and the pause that a server asks for with Retry-After. Pure.

https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
"""

import random
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses after failures in a row: twice as long each time, from the first up to the longest."""

    first_seconds: float = 1.0
    longest_seconds: float = 60.0

    def within(self, seconds: float | None) -> "Backoff":
        """The same, but never longer than this."""
        if seconds is None:
            return self
        return Backoff(min(self.first_seconds, seconds), min(self.longest_seconds, seconds))

    def full_pause(self, failures: int) -> float:
        """The pause in seconds after so many failures in a row, 1 or more."""
        return min(self.first_seconds * 2.0 ** min(failures - 1, 30), self.longest_seconds)

    def pause(self, failures: int) -> float:
        """Between half of the full pause and all of it, at random: spreads what failed together."""
        return self.full_pause(failures) * random.uniform(0.5, 1.0)  # noqa: S311 - hides nothing


def parse_retry_after(header: str) -> float | None:
    """Seconds from now of a Retry-After, a number or a date; 0 for a past date, None if it is neither."""
    try:
        if header.isdecimal():
            return float(header)
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
