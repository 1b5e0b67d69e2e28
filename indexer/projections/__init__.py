"""Records -> rows: one value per record type, and the list of them.

Promises: pure; the same record gives the same rows on every node.
Leaves to the writer: which version of a record wins, and the public ids.
"""

from collections.abc import Iterator
from typing import Any

from indexer.projections import comment, like, list, profile, track
from indexer.projections.projection import Children, Projection, Row
from schemas.collections import Collections
from schemas.ids import Nsid

__all__ = ["ALL", "Children", "Projection", "Row", "of", "strays"]

ALL: tuple[Projection[Any], ...] = (
    track.projection,
    like.projection,
    comment.projection,
    list.projection,
    profile.projection,
)


def strays() -> Iterator[tuple[str, str]]:
    """Each child table, and the condition that only rows meet there which belong to no record."""
    for projection in ALL:
        yield from ((table, projection.strays) for table in projection.child_tables)


def of(collections: Collections) -> dict[Nsid, Projection[Any]]:
    """The projection of each collection of a namespace."""
    return {getattr(collections, projection.name): projection for projection in ALL}
