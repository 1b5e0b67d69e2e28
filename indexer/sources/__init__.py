"""Where frames come from: a relay's firehose, a Jetstream, or a file of recorded frames.

A source owns its connection and its reconnections; of frames it understands only those that end the stream.
Promises: frames in the order of their sequence space, some perhaps twice, none skipped but
those that pass at a glance while more come with them.
Leaves to the pipeline: what frames mean, and how far the work on them has come.
"""

import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from indexer.events import Decode, Frame
from indexer.glance import Glance


@dataclass(slots=True)
class Status:
    """How a source is doing. `error` is the last failure, as a sentence; it stays until frames flow again.

    `reconnects` counts by what ended a connection: a close code, `http_429`, or `unreachable`.
    """

    connected: bool = False
    error: str | None = None
    retry_at: float | None = None  # on time.monotonic
    reconnects: Counter[str] = field(default_factory=Counter)
    frames: int = 0
    bytes: int = 0
    last_frame_at: datetime | None = None

    @property
    def retry_in(self) -> float | None:
        """Seconds until the next attempt to connect; None while there is nothing to wait for."""
        return None if self.retry_at is None else max(0.0, self.retry_at - time.monotonic())


class Source(Protocol):
    """A stream of frames. `name` keys the cursor, because sequence numbers mean nothing elsewhere.

    `finished` is set by whoever does the work: the sequence number up to which everything is done, and
    from where a broken connection is resumed. `glance` is set likewise, if frames may be let go that need no
    decoding. `decode` understands its frames.
    """

    name: str
    status: Status
    finished: Callable[[], int | None]
    glance: Glance | None
    decode: Decode

    def frames(self, after: int | None) -> AsyncGenerator[Frame, None]:
        """Yield frames that follow `after`; None: from where a new install begins."""
        ...

    def cursor_at(self, instant: datetime) -> int | None:
        """Where to begin to miss nothing since an instant; None when the numbers say nothing about time."""
        ...
