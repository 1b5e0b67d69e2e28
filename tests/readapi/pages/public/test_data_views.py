"""The page of the open data: small however much it shows."""

from datetime import UTC, datetime, timedelta

from readapi.pages.assets import Assets
from readapi.pages.public import data_views
from readapi.pages.public.data_views import BAR_WIDTH, CHART_HEIGHT, Growth
from readapi.pages.render import Renderer
from schemas import exports
from schemas.api.exports import Export, ExportFile, ExportTable, Manifest
from tests.readapi.pages.examples import ADDRESSES

MOST_BYTES = 30 << 10
WEEKS = [datetime(2026, 1, 5, tzinfo=UTC) + week * timedelta(weeks=1) for week in range(30)]
LARGE = [123_456_789 + week for week in range(30)]


def busy_manifest() -> Manifest:
    """A full export of large tables, with the hourly changes of a day."""
    when = "2026-08-01T00:00:00Z"

    def make(number: int, kind: str) -> Export:
        files = [
            ExportFile(
                table=table.name,
                path=f"{number:08}-{'0' * 16}/{table.name}.parquet",
                rows=123_456_789,
                bytes=12_345_678_901,
                sha256="0" * 64,
            )
            for table in exports.TABLES
        ]
        return Export.model_validate(
            {"kind": kind, "number": number, "schema_version": exports.VERSION, "snapshot_at": when}
            | {"made_at": when, "positions": [], "files": files}
        )

    made = [make(1_000, "full"), *(make(1_001 + hour, "changes") for hour in range(24))]
    tables = [ExportTable.of(table) for table in exports.TABLES]
    return Manifest(
        service=ADDRESSES.base_url,
        license="CC-BY-4.0",
        contact="mail@music.example",
        tables=tables,
        exports=made,
    )


def test_a_page_with_everything_to_show_is_small() -> None:
    """Every week of every chart, every table, every tag at its longest."""
    charts = [data_views.draw(title, WEEKS, LARGE) for title in ("New tracks", "Likes", "Plays")]
    growth = [Growth("x" * 50, 123_456, 123_456) for _ in range(10)]
    view = data_views.of_data(busy_manifest(), charts, growth, ADDRESSES, has_sql=True)
    page = Renderer(ADDRESSES, Assets()).page("data.html", sign_in=None, account=None, **view)

    assert page.count(b"<svg") == 3
    assert page.count(f"{LARGE[0]:,}".encode()) >= 3
    assert len(page) <= MOST_BYTES


def test_a_chart_is_one_path_of_bars() -> None:
    """The greatest is as high as the chart, a small count is seen, and no count has no bar."""
    chart = data_views.draw("Likes", WEEKS[:4], [0, 1, 600, 300])
    low, high, half = chart.path.removeprefix("M").removesuffix("z").split("zM")

    assert low == f"10 {CHART_HEIGHT}v-1h{BAR_WIDTH}v1"
    assert high == f"20 {CHART_HEIGHT}v-{CHART_HEIGHT}h{BAR_WIDTH}v{CHART_HEIGHT}"
    assert half.startswith(f"30 {CHART_HEIGHT}v-{CHART_HEIGHT // 2}h")
    assert data_views.draw("Likes", WEEKS[:2], [0, 0]).path == ""
