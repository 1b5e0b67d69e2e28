"""Records -> rows: one value per record type, and the list of them.

Promises: pure; the same record gives the same rows on every node.
Leaves to the writer: which version of a record wins, and the public ids.
"""

from collections.abc import Iterator
from typing import Any

from indexer.catalog.projections import comment, like, list, profile, track
from indexer.catalog.projections.projection import Applied, Children, Documents, Projection, Row
from schemas.collections import Collections
from schemas.ids import Nsid

__all__ = ["ALL", "Applied", "Children", "Documents", "Projection", "Row", "nsids", "of", "strays"]

ALL: tuple[Projection[Any], ...] = (
    track.projection,
    like.projection,
    comment.projection,
    list.projection,
    profile.projection,
)


def find_strays() -> Iterator[tuple[str, str]]:
    """Each child table, with the SQL condition of rows that belong to no live record."""
    for projection in ALL:
        yield from ((table, projection.strays) for table in projection.child_tables)


def projections_of(collections: Collections) -> dict[Nsid, Projection[Any]]:
    """The projection of each of these collections."""
    return {collections.of(projection.name): projection for projection in ALL}


def indexed_nsids(collections: Collections) -> frozenset[Nsid]:
    """Every collection of a namespace that is indexed."""
    return frozenset(projections_of(collections))
