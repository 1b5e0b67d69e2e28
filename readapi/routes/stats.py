"""Totals."""

from readapi.catalog import Catalog
from readapi.endpoint import Routes
from readapi.queries import stats
from schemas.api.stats import Stats

routes = Routes("meta")


@routes.get("/stats")
async def totals(catalog: Catalog) -> Stats:
    """Count everything that may be seen, as of `as_of`."""
    return await stats.totals(catalog)
