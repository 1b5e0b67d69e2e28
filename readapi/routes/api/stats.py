"""Totals of the index."""

from readapi.http.endpoint import Routes
from readapi.index.queries import stats
from readapi.index.snapshots.interface import Snapshots
from schemas.api.stats import Stats

routes = Routes("data")


@routes.get("/stats", prompt=True)
async def totals(catalog: Snapshots) -> Stats:
    """Get totals over all visible records, as of `as_of`."""
    return await stats.count_totals(catalog)
