"""How far the stream is followed and the lists of repos are read: written with what was read there."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime

from indexer.batch import Listing, Mark
from indexer.catalogue import Catalogue
from indexer.projections.projection import utc


class Cursors:
    """The tables `cursors` and `discoveries`."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def of(self, source: str) -> int | None:
        """The source's low-water mark: everything up to it is stored."""
        found = self._catalogue.rows("select seq from cursors where source = ?", (source,))
        return int(found[0][0]) if found else None

    def newest(self) -> datetime | None:
        """The time of the newest event that is stored, whatever the source."""
        [(newest,)] = self._catalogue.rows("select max(event_time) from cursors")
        return None if newest is None else newest.replace(tzinfo=UTC)

    def move(self, marks: Mapping[str, Mark]) -> None:
        """Put sources' marks in the place of what was there."""
        for source, mark in marks.items():
            moved = self._catalogue.rows(
                "update cursors set seq = ?, event_time = ? where source = ? returning seq",
                (mark.seq, utc(mark.event_time), source),
            )
            if not moved:
                self._catalogue.con.execute(
                    "insert into cursors values (?, ?, ?)", [source, mark.seq, utc(mark.event_time)]
                )

    def listings(self) -> list[Listing]:
        """How far each list is read."""
        rows = self._catalogue.rows("select source, collection, cursor, finished_at from discoveries")
        return [
            Listing(source, collection, cursor, finished_at and finished_at.replace(tzinfo=UTC))
            for source, collection, cursor, finished_at in rows
        ]

    def keep(self, listings: Iterable[Listing]) -> None:
        """Put lists' marks in the place of what was there."""
        for listing in listings:
            self._catalogue.con.execute(
                "delete from discoveries where source = ? and collection = ?",
                [listing.source, listing.collection],
            )
            row = asdict(listing) | {"finished_at": utc(listing.finished_at)}
            self._catalogue.insert("discoveries", [row])
