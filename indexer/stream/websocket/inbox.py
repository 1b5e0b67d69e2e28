"""The messages that wait for the consumer: the prefilter drops most, the rest is bounded."""

from collections.abc import Callable
from typing import Final, NamedTuple

from indexer import faults
from indexer.stream.prefilter import Prefilter

MAX_BYTES: Final = 1 << 20  # and what one more read of the socket brings
MESSAGE_BYTES: Final = 128  # of memory, beside the message itself


class Bunch(NamedTuple):
    """What was received since the last bunch."""

    kept: list[tuple[bytes, int]]  # each message, with how many the prefilter dropped just before it
    messages: int  # those that were dropped included
    size: int  # bytes, likewise


class Inbox:
    """Collects messages in order. The prefilter drops them as they arrive, but never the last of a bunch.

    `came` is called with the first message of a bunch; `full`, with the number of those that wait, when they
    are so large together that no more should be read.
    """

    def __init__(
        self, prefilter: Prefilter | None, *, came: Callable[[], None], full: Callable[[int], None]
    ) -> None:
        self._prefilter = prefilter
        self._came, self._full = came, full
        self._kept: list[tuple[bytes, int]] = []
        self._size = self._waiting_bytes = 0
        self._last, self._passed = b"", 0  # of the messages dropped since the last one kept

    def add(self, message: bytes) -> None:
        """Take a message in."""
        if not self._passed and not self._kept:
            self._came()
        self._size += len(message)
        try:
            if self._prefilter is not None and self._prefilter.passes(message):
                self._last = message
                self._passed += 1
                return
        except BaseException as error:
            if faults.is_fatal(error):
                raise
            faults.record_fault("glance", error)  # the message goes to the decoder, which keeps it
        self._kept.append((message, self._passed))
        self._passed = 0
        self._waiting_bytes += len(message) + MESSAGE_BYTES
        if self._waiting_bytes > MAX_BYTES:
            self._full(len(self._kept))

    def take(self) -> Bunch | None:
        """Hand over what waits; None if nothing does. The consumer has processed the bunch before."""
        if self._passed:
            self._kept.append((self._last, self._passed - 1))
        if not self._kept:
            return None
        messages = len(self._kept) + sum(passed for _, passed in self._kept)
        bunch = Bunch(self._kept, messages, self._size)
        self._kept, self._last, self._passed = [], b"", 0
        self._size = self._waiting_bytes = 0
        if self._prefilter is not None:
            self._prefilter.begin()
        return bunch
