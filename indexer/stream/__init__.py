"""Where frames come from: a relay's firehose, a Jetstream, or a file of recorded frames.

A source owns its connection and its reconnections; it decodes no frames but those that end the stream.
Promises: frames in the order of their sequence space, some perhaps twice, none skipped but
those that the prefilter passes while more are received with them.
Leaves to the pipeline: what frames mean, and how far they are processed.
"""

import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from indexer.events import Decode, Frame
from indexer.stream.prefilter import Prefilter


@dataclass(slots=True)
class Status:
    """The health of a source. `error` is the last failure, as a sentence, until frames are received again.

    `reconnects` counts by the cause that ended a connection: a close code, `http_429`, or `unreachable`.
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
        """Seconds until the next attempt to connect; None when none is scheduled."""
        return None if self.retry_at is None else max(0.0, self.retry_at - time.monotonic())


class Source(Protocol):
    """A stream of frames. `name` is the key of its cursor: sequence numbers are the source's own.

    The consumer sets `finished`, which returns the sequence number up to which all work is done, where a
    broken connection resumes. It sets `prefilter` too, if the source may drop frames that need no decoding.
    `decode` decodes the source's frames.
    """

    name: str
    status: Status
    finished: Callable[[], int | None]
    prefilter: Prefilter | None
    decode: Decode

    def frames(self, after: int | None) -> AsyncGenerator[Frame, None]:
        """Yield the frames after `after`; None: from where a new install begins."""
        ...

    def cursor_at(self, instant: datetime) -> int | None:
        """The cursor that misses nothing since an instant; None when sequence numbers do not encode time."""
        ...
