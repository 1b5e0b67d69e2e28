"""Cursors of streams, and positions in the lists of repos: committed with the data read up to there."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from indexer.catalog.database import Database
from schemas.datetimes import to_utc


@dataclass(frozen=True, slots=True)
class ListProgress:
    """How far one list of one host is read: after `cursor`, or to its end at `finished_at`."""

    source: str
    collection: str
    cursor: str | None = None
    finished_at: datetime | None = None


class StreamCursor(NamedTuple):  # made for every message of the network
    """Everything up to `seq` of a source's sequence space is finished."""

    seq: int
    event_time: datetime | None


class Cursors:
    """The tables `cursors` and `discoveries`."""

    def __init__(self, catalogue: Database) -> None:
        self._catalogue = catalogue

    def of(self, source: str) -> int | None:
        """The source's low-water mark: everything up to it is stored."""
        found = self._catalogue.rows("select seq from cursors where source = ?", (source,))
        return int(found[0][0]) if found else None

    def newest(self) -> datetime | None:
        """The time of the newest event that is stored, whatever the source."""
        [(newest,)] = self._catalogue.rows("select max(event_time) from cursors")
        return None if newest is None else newest.replace(tzinfo=UTC)

    def move(self, marks: Mapping[str, StreamCursor]) -> None:
        """Replace the cursors of these sources."""
        for source, mark in marks.items():
            moved = self._catalogue.rows(
                "update cursors set seq = ?, event_time = ? where source = ? returning seq",
                (mark.seq, to_utc(mark.event_time), source),
            )
            if not moved:
                self._catalogue.con.execute(
                    "insert into cursors values (?, ?, ?)", [source, mark.seq, to_utc(mark.event_time)]
                )

    def listings(self) -> list[ListProgress]:
        """The position in each list."""
        rows = self._catalogue.rows("select source, collection, cursor, finished_at from discoveries")
        return [
            ListProgress(source, collection, cursor, finished_at and finished_at.replace(tzinfo=UTC))
            for source, collection, cursor, finished_at in rows
        ]

    def keep(self, listings: Iterable[ListProgress]) -> None:
        """Replace the positions in these lists."""
        for listing in listings:
            self._catalogue.con.execute(
                "delete from discoveries where source = ? and collection = ?",
                [listing.source, listing.collection],
            )
            row = asdict(listing) | {"finished_at": to_utc(listing.finished_at)}
            self._catalogue.insert("discoveries", [row])
