"""The page of the open data."""

from datetime import timedelta

from readapi.answers import HTML, Answer
from readapi.errors import IndexNotReady
from readapi.http.endpoint import Routes
from readapi.http.viewer import SignedIn
from readapi.index.exports import OpenData
from readapi.index.queries import series
from readapi.index.queries.series import Metric, make_span
from readapi.index.snapshots import SeriesFiles
from readapi.pages import responses
from readapi.pages.public import data_views
from readapi.pages.public.data_views import Chart, Growth
from readapi.pages.render import Renderer
from schemas import datetimes

routes = Routes("pages")

_CHARTS: tuple[tuple[Metric, str], ...] = (
    ("tracks", "New tracks"), ("likes", "Likes"), ("plays", "Plays")
)  # fmt: skip
_GROWING = 10  # tags
_FOUR_WEEKS = timedelta(weeks=4)


@routes.get("/data", media_types=(HTML,))
async def data_page(
    data: OpenData, files: SeriesFiles, who: SignedIn | None, renderer: Renderer
) -> Answer[str]:
    """Show the open data: its files, columns, how to read them, and counts by the week."""
    try:
        charts = [await _draw(files, metric, title) for metric, title in _CHARTS]
        growth = await _find_growth(files)
    except IndexNotReady:  # without them the page is still of use
        charts, growth = [], []
    view = data_views.of_data(data.manifest, charts, growth, renderer.addresses)
    return responses.public_page(renderer, "data.html", view, who)


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
