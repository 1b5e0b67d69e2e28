"""What queries of the catalogue need, in the process that has the snapshots open and in all others."""

import time
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

Row = tuple[Any, ...]

LOOK_SECONDS: Final = 0.25  # between two looks at the link that leads to the newest snapshot
ABSENT: Final = "No snapshot of the catalogue has been published yet."
OPENING: Final = "The newest snapshot of the catalogue is being opened; try again."
UNANSWERED: Final = "The catalogue cannot answer this at the moment; try again later."


class SnapshotAnswer(NamedTuple):
    """An answer, and the instant of its snapshot."""

    rows: list[Row]
    as_of: datetime


class Snapshots(Protocol):
    """The newest snapshot of the catalogue."""

    version: str | None  # changes whenever answers may; None while there is no snapshot
    trouble: str | None  # why no snapshot can be asked, in a sentence; None while one can

    async def rows(self, sql: str, **values: Any) -> SnapshotAnswer:
        """The rows of a query. Raises IndexNotReady when no snapshot answers it."""

    @property
    def as_of(self) -> datetime | None:
        """The instant of the newest snapshot; None without one."""


class SeriesFiles(Snapshots, Protocol):
    """The same of the counts by hour and day, which the indexer makes of a snapshot and keeps in a file."""


def age_seconds(as_of: datetime | None) -> float | None:
    """How long ago this was, 0 if it is still to come; None for None."""
    return None if as_of is None else max(time.time() - as_of.timestamp(), 0.0)
