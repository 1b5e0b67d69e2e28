"""Retry-After headers, and back-off policies for reconnections (Backoff) and retries (Patience).

https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
"""

import random
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


def seconds(asked: str) -> float | None:
    """Seconds from now of a Retry-After, a number or a date; 0 for a past date, None if it is neither."""
    try:
        if asked.isdecimal():
            return float(asked)
        return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def doubled(first_seconds: float, longest_seconds: float, failures: int) -> float:
    """The pause after so many failures in a row, 1 or more: twice as long each time, up to the longest."""
    return min(first_seconds * 2.0 ** min(failures - 1, 30), longest_seconds)


def jittered(pause_seconds: float) -> float:
    """Half of a pause up to all of it, by lot, so that what failed together is not tried again together."""
    return pause_seconds * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, hides nothing


@dataclass(frozen=True, slots=True)
class Backoff:
    """The pause before a reconnection: doubled each time, jittered, reset after `stable_seconds`."""

    first_seconds: float = 1.0
    cap_seconds: float = 60.0
    stable_seconds: float = 30.0

    def within(self, seconds: float | None) -> "Backoff":
        """The same, but never longer than this."""
        if seconds is None:
            return self
        return Backoff(min(self.first_seconds, seconds), min(self.cap_seconds, seconds), self.stable_seconds)

    def seconds(self, failures: int) -> float:
        return jittered(doubled(self.first_seconds, self.cap_seconds, failures))


@dataclass(frozen=True, slots=True)
class Patience:
    """The pause before a retry, doubled each time, jittered. `attempts`: the most tries; None: any number."""

    first_seconds: float = 30.0
    longest_seconds: float = 3600.0
    attempts: int | None = None

    def within(self, seconds: float | None) -> "Patience":
        """The same, but never longer than this."""
        if seconds is None:
            return self
        return Patience(min(self.first_seconds, seconds), min(self.longest_seconds, seconds), self.attempts)

    def pause(self, failures: int) -> float | None:
        """Seconds until the next attempt; None: give up."""
        if self.attempts is not None and failures >= self.attempts:
            return None
        return jittered(doubled(self.first_seconds, self.longest_seconds, failures))
