"""Health and readiness of the service."""

from typing import Literal

from schemas.api.shape import Count, Shape, Time
from schemas.errors import Code


class Health(Shape):
    """The process answers; this makes no other claim."""

    status: Literal["ok"]


class IndexState(Shape):
    """The search index as this worker sees it."""

    open: bool
    generation: Count
    documents: Count


class SnapshotState(Shape):
    """The snapshot that totals are read from."""

    as_of: Time | None
    age_seconds: float | None


class SourceState(Shape):
    """The stream of events that the indexer follows."""

    name: str
    connected: bool
    error: str | None
    retry_in: float | None


class IndexerState(Shape):
    """Whether the indexer answers on its control socket."""

    reachable: bool


class StateState(Shape):
    """The database of sessions and grants."""

    reachable: bool


class AudioStoreState(Shape):
    """Whether released files of the audio store are deleted, and if not, why. Does not affect readiness.

    `orphans`: the number of files without a row in the database at the last count. They are kept.
    """

    deleting: bool
    warnings: list[str]
    released: Count
    orphans: Count | None


class Readiness(Shape):
    """Everything that decides whether answers are fresh. `detail` and `message` only when not ready.

    `warnings` are for the operator, and do not affect readiness.
    """

    ready: bool
    reasons: list[str]
    warnings: list[str]
    index: IndexState
    lag_seconds: float | None
    snapshot: SnapshotState
    source: SourceState | None
    indexer: IndexerState
    state: StateState
    audio_store: AudioStoreState | None
    detail: Code | None = None
    message: str | None = None
