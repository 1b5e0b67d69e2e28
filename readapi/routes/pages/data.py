"""The page of the open data."""

from datetime import timedelta
from typing import Annotated

import orjson
from pydantic import Field

from readapi.answers import HTML, Answer
from readapi.errors import IndexNotReady, InvalidRequest, NotFound, RateLimited
from readapi.http.endpoint import Routes
from readapi.http.limits.clients import Client
from readapi.http.viewer import SignedIn
from readapi.index.exports import OpenData
from readapi.index.queries import series
from readapi.index.queries.series import Metric, make_span
from readapi.index.snapshots.interface import SeriesFiles
from readapi.pages import responses
from readapi.pages.public import data_views
from readapi.pages.public.data_views import Chart, Growth
from readapi.pages.render import Renderer
from readapi.sql.queries import Queries
from schemas import datetimes
from schemas.api.sql import SqlAnswer

routes = Routes("pages")

_CHARTS: tuple[tuple[Metric, str], ...] = (
    ("tracks", "New tracks"), ("likes", "Likes"), ("plays", "Plays")
)  # fmt: skip
StatementText = Annotated[str, Field(max_length=4000, description="One SELECT over the published tables.")]
_GROWING = 10  # tags
_FOUR_WEEKS = timedelta(weeks=4)


@routes.get("/data", media_types=(HTML,))
async def data_page(
    data: OpenData, files: SeriesFiles, queries: Queries, who: SignedIn | None, renderer: Renderer
) -> Answer[str]:
    """Show the open data: its files, columns, how to read them, and counts by the week."""
    try:
        charts = [await _draw(files, metric, title) for metric, title in _CHARTS]
        growth = await _find_growth(files)
    except IndexNotReady:  # without them the page is still of use
        charts, growth = [], []
    view = data_views.of_data(data.manifest, charts, growth, renderer.addresses, has_sql=queries.offered)
    return responses.public_page(renderer, "data.html", view, who)


@routes.get("/data/sql", media_types=(HTML,), raises=(NotFound, RateLimited, IndexNotReady), acts=True)
async def sql_page(
    queries: Queries,
    client: Client,
    who: SignedIn | None,
    renderer: Renderer,
    query: StatementText = "",
) -> Answer[str]:
    """Show a form for SQL over the open data, and what the statement gave."""
    queries.check_offered()
    answer, refusal = None, None
    if query.strip():
        try:
            found = await queries.run(query, "json", client)
            answer = SqlAnswer.model_construct(**orjson.loads(found.body))
        except InvalidRequest as error:
            refusal = error.message
    view = data_views.of_sql(query, answer, refusal, renderer.addresses)
    return responses.public_page(renderer, "data_sql.html", view, who)


async def _draw(files: SeriesFiles, metric: Metric, title: str) -> Chart:
    span = make_span(metric, "week", None, datetimes.this_minute())
    [everything], _ = await series.count_series(files, "all", [0], span)
    return data_views.draw(title, span.begins, everything.values)


async def _find_growth(files: SeriesFiles) -> list[Growth]:
    """The tags with the most new tracks in the last four weeks."""
    now = datetimes.this_minute()
    last = make_span("tracks", "day", now - _FOUR_WEEKS, now)
    before = make_span("tracks", "day", now - 2 * _FOUR_WEEKS, now - _FOUR_WEEKS)
    tags = await series.find_with_most(files, "tag", last, _GROWING)
    names = await series.find_names(files, "tag", tags)
    counted, _ = await series.count_series(files, "tag", tags, last)
    earlier, _ = await series.count_series(files, "tag", tags, before)
    return [
        Growth(names[tag], sum(now_.values), sum(then.values))
        for tag, now_, then in zip(tags, counted, earlier, strict=True)
        if tag in names
    ]
