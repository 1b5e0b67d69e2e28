"""SQL over the open data."""

from readapi.answers import JSON, Answer
from readapi.errors import IndexNotReady, NotFound, RateLimited
from readapi.http.endpoint import Routes
from readapi.http.limits.clients import Client
from readapi.sql.limits import LIMITS
from readapi.sql.queries import Queries
from readapi.sql.statement import FUNCTIONS
from schemas import exports
from schemas.api.exports import ExportTable
from schemas.api.sql import SqlAnswer, SqlLimits, SqlSchema, SqlStatement

routes = Routes("data")

_TYPES = {
    "json": JSON,
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
_PLAIN_TYPES = tuple(media_type.partition(";")[0] for media_type in _TYPES.values())


@routes.post(
    "/sql", from_any_page=True, media_types=_PLAIN_TYPES, raises=(NotFound, RateLimited, IndexNotReady)
)
async def run_sql(sent: SqlStatement, queries: Queries, client: Client) -> Answer[SqlAnswer]:
    """Run a SELECT over the tables of the newest export of the open data.

    The statement runs in a process of its own, which can read these tables and nothing else. An answer has at
    most 10,000 rows and 8 MiB; a statement takes at most ten seconds and 512 MB of memory. Not every function
    is allowed: `/sql/schema` lists those that are. Operators turn this on; it is off by default.
    """
    answer = await queries.run(sent.query, sent.format, client)
    headers = {"X-Rows": str(answer.rows), "X-Truncated": str(answer.truncated).lower()}
    return Answer(answer.body, _TYPES[sent.format], headers=headers)


@routes.get("/sql/schema", raises=(NotFound,))
def sql_schema(queries: Queries) -> SqlSchema:
    """List the tables that `/sql` may read, column by column, its functions and its limits."""
    queries.check_offered()
    return SqlSchema(
        tables=[ExportTable.of(table) for table in exports.TABLES],
        functions=sorted(FUNCTIONS),
        limits=SqlLimits(**LIMITS),
    )
