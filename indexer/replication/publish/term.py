"""The lease as a state machine: whether this node holds it, and what it does next. Pure: times are handed in.

The holder writes `lease.json` again and again. A node that sees one version of it for the lease's duration,
by its own clock, may replace that version and no other, with the next epoch. The holder counts the duration
from before its write, others from after they read it, so the holder gives up first, whatever clocks say.
"""

from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

RENEW_SHARE: Final = 1 / 4  # of the duration, after which the holder writes again

Step = Literal["read", "write", "release", "wait"]


class LeaseRecord(BaseModel):
    """The content of `lease.json`. `renewal` makes each version another one."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    node: str
    epoch: int
    renewal: int = 0
    released: bool = False

    def encoded(self) -> bytes:
        return self.model_dump_json().encode()


class _Seen(NamedTuple):
    record: LeaseRecord | None
    tag: str | None
    since: float


class Term:
    """One node's knowledge of the lease."""

    def __init__(self, node: str, seconds: float) -> None:
        self._node = node
        self._seconds = seconds
        self._seen: _Seen | None = None  # None: it has to be read
        self._held: LeaseRecord | None = None
        self._has_held = False
        self._written_at = 0.0
        self.known_epoch = 0  # the newest one that was seen, also before a doubt

    def epoch(self, now: float) -> int | None:
        """The epoch in which this node may move `current.json`; None when it does not hold the lease."""
        if self._held is None or now >= self._written_at + self._seconds:
            return None
        return self._held.epoch

    @property
    def tag(self) -> str | None:
        """The version that a write has to replace; None when there is none."""
        return self._seen.tag if self._seen else None

    def next_step(self, now: float, *, is_whole: bool, is_fresh: bool) -> Step:
        """What to do now. `is_whole`: it has an index and can show it; `is_fresh`: it is caught up too.

        An index that is behind replaces no other node's, but is shown where there is none. A holder that is
        not whole releases the lease, also after its duration: no other indexer may have replaced it.
        """
        if self._seen is None:
            return "read"
        if self._held is not None and not is_whole:
            return "release"
        if self._held is not None:
            return "write" if now >= self._written_at + self._seconds * RENEW_SHARE else "wait"
        record = self._seen.record
        is_fit = is_fresh or record is None or record.node == self._node
        return "write" if is_whole and is_fit and self._is_free(now) else "read"

    def next_record(self) -> LeaseRecord:
        """What to write: a renewal of the lease that is held, else the next epoch."""
        if self._held is not None:
            return self._held.model_copy(update={"renewal": self._held.renewal + 1})
        return LeaseRecord(node=self._node, epoch=self.known_epoch + 1)

    def read(self, record: LeaseRecord | None, tag: str | None, now: float) -> None:
        """Note what was read. `now`: the time after the read."""
        if self._seen is None or self._seen.tag != tag:
            self._see(record, tag, now)
        if self._held is not None:
            self._held = record if record is not None and self._is_ours(record) else None

    def written(self, record: LeaseRecord, tag: str, began: float) -> None:
        """Note a successful write. `began`: the time before the write."""
        self._see(record, tag, began)
        self._held = None if record.released else record
        self._has_held = True
        self._written_at = began

    def doubt(self) -> None:
        """The stored version may have changed unseen: read it before anything else."""
        self._seen = None

    def _see(self, record: LeaseRecord | None, tag: str | None, since: float) -> None:
        self._seen = _Seen(record, tag, since)
        self.known_epoch = max(self.known_epoch, record.epoch if record else 0)

    def _is_ours(self, record: LeaseRecord) -> bool:
        return self._held is not None and (record.node, record.epoch) == (self._node, self._held.epoch)

    def _is_free(self, now: float) -> bool:
        assert self._seen is not None
        record = self._seen.record
        if record is None or record.released:
            return True
        if record.node == self._node and not self._has_held:
            return True  # it is an earlier process's: a data folder has one indexer at a time
        return now >= self._seen.since + self._seconds
