"""How the service is: alive, and ready to be asked."""

from typing import Literal

from schemas.api.shape import Count, Shape, Time
from schemas.errors import Code


class Health(Shape):
    """The process answers; nothing more is claimed."""

    status: Literal["ok"]


class IndexState(Shape):
    """The search index as this worker sees it."""

    open: bool
    generation: Count
    documents: Count


class SnapshotState(Shape):
    """The snapshot that aggregates are read from."""

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
    """Whether released files of the audio store are deleted, and why not. Serving does not depend on it.

    `orphans`: files that belong to nothing, as they were last counted; they are kept.
    """

    deleting: bool
    warnings: list[str]
    released: Count
    orphans: Count | None


class Readiness(Shape):
    """Everything that decides whether answers are fresh. `detail` and `message` only when not ready.

    `warnings` ask for an operator's look, and decide nothing.
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
