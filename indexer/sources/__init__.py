"""Where frames come from: a relay's firehose, or a file of recorded frames.

A source owns its connection and its reconnections; it decodes nothing but error frames.
Promises: frames in the order of their sequence space, some perhaps twice, none skipped.
Leaves to the pipeline: what frames mean, and how far the work on them has come.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from indexer.events import Frame


@dataclass(slots=True)
class Status:
    """How a source is doing. `error` is the last failure, as a sentence; it stays until frames flow again."""

    connected: bool = False
    error: str | None = None
    retry_in: float | None = None
    reconnects: Counter[str] = field(default_factory=Counter)
    frames: int = 0
    bytes: int = 0
    last_frame_at: datetime | None = None


class Source(Protocol):
    """A stream of frames. `name` keys the cursor, because sequence numbers mean nothing elsewhere.

    `finished` is set by whoever does the work: the sequence number up to which everything is done, and
    from where a broken connection is resumed.
    """

    name: str
    status: Status
    finished: Callable[[], int | None]

    def frames(self, after: int | None) -> AsyncIterator[Frame]:
        """Yield frames that follow `after`; None: from where a new install begins."""
        ...
