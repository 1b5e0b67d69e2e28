"""Template variables of the page of the open data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from readapi.pages.public import metadata
from readapi.pages.public.metadata import SITE_NAME
from readapi.pages.public.views import View
from readapi.pages.urls import Addresses
from schemas import exports
from schemas.api.exports import Export, Manifest
from schemas.api.sql import SqlAnswer

CHART_HEIGHT: Final = 60
BAR_WIDTH: Final = 8
_GAP: Final = 2
SHOWN_ROWS: Final = 200
_FIRST_QUERY: Final = (
    "select track_uri, count(*) as likes\nfrom likes\ngroup by track_uri\norder by likes desc\nlimit 10"
)
_SAMPLES: Final[Mapping[str, str]] = {
    "DuckDB": (
        "select date_trunc('week', counted_at)::date as week, count(*) as likes\n"
        "from '{likes}'\ngroup by week\norder by week;"
    ),
    "Polars": (
        'import polars\n\nlikes = polars.scan_parquet("{likes}")\n'
        'print(likes.group_by("track_uri").len().sort("len", descending=True).head(10).collect())'
    ),
    "pandas": (
        'import pandas\n\nplays = pandas.read_parquet("{plays_hourly}")\n'
        'print(plays.groupby(plays["hour"].dt.hour)["plays"].sum())'
    ),
}


_SQL_SAMPLE: Final = (
    """curl {url} --json '{{"format": "csv", "query": """
    """"select tag, count(*) as tracks from track_tags group by tag order by tracks desc limit 10"}}'"""
)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a chart, in the units of its drawing, and what it stands for."""

    begin: datetime
    count: int
    x: int
    height: int


@dataclass(frozen=True, slots=True)
class Chart:
    """Counts by the week."""

    title: str
    bars: Sequence[Bar]

    @property
    def width(self) -> int:
        """Of the drawing."""
        return len(self.bars) * (BAR_WIDTH + _GAP) - _GAP

    @property
    def most(self) -> int:
        """The greatest count."""
        return max(bar.count for bar in self.bars)

    @property
    def path(self) -> str:
        """The bars as the one path of an SVG: an element for each bar is most of a page."""
        return "".join(
            f"M{bar.x} {CHART_HEIGHT}v-{bar.height}h{BAR_WIDTH}v{bar.height}z"
            for bar in self.bars
            if bar.height
        )


@dataclass(frozen=True, slots=True)
class Growth:
    """A tag and how many tracks with it appeared in the last four weeks, and in the four before."""

    tag: str
    tracks: int
    before: int


def draw(title: str, begins: Sequence[datetime], counts: Sequence[int]) -> Chart:
    """A chart whose highest bar is as high as the chart. A count above zero has a bar that can be seen."""
    most = max([1, *counts])
    bars = []
    for place, (begin, count) in enumerate(zip(begins, counts, strict=True)):
        height = max(1, CHART_HEIGHT * count // most) if count else 0
        bars.append(Bar(begin, count, place * (BAR_WIDTH + _GAP), height))
    return Chart(title, bars)


def of_data(
    manifest: Manifest | None,
    charts: Sequence[Chart],
    growth: Sequence[Growth],
    addresses: Addresses,
    *,
    has_sql: bool,
) -> View:
    """For the page of the open data. `manifest`: None before the first export."""
    full = None if manifest is None else manifest.newest_full
    if full is not None and full.schema_version != exports.VERSION:
        full = None  # of other tables; the next export is a full one
    files = {} if full is None else {file.table: file for file in full.files}
    links = {name: addresses.page(f"/exports/{file.path}") for name, file in files.items()}
    head = metadata.of_page(
        "Open data",
        f"Everything public of the {SITE_NAME} index as Parquet files, with its schema.",
        addresses.page("/data"),
    )
    return {
        "head": head,
        "manifest": manifest,
        "full": full,
        "changes": _changes_since(manifest, full),
        "files": files,
        "links": links,
        "megabytes": round(sum(file.bytes for file in files.values()) / 1e6, 1),
        "samples": _samples(links, addresses, has_sql=has_sql) if links else {},
        "charts": charts,
        "growth": growth,
        "has_sql": has_sql,
        "iceberg": None if manifest is None else manifest.iceberg,
    }


def of_sql(query: str, answer: SqlAnswer | None, refusal: str | None, addresses: Addresses) -> View:
    """For the form for SQL: with the first rows of an answer, or why there is none."""
    head = metadata.of_page(
        "SQL over the open data",
        f"Ask the public tables of the {SITE_NAME} index in SQL.",
        addresses.page("/data/sql"),
    )
    return {
        "head": replace(head, indexed=not query),
        "query": query or _FIRST_QUERY,
        "answer": answer,
        "shown": [] if answer is None else answer.rows[:SHOWN_ROWS],
        "refusal": refusal,
        "tables": exports.TABLES,
    }


def _samples(links: Mapping[str, str], addresses: Addresses, *, has_sql: bool) -> Mapping[str, str]:
    """Lines to copy, by what they are for."""
    samples = {name: sample.format(**links) for name, sample in _SAMPLES.items()}
    return samples | ({"SQL": _SQL_SAMPLE.format(url=addresses.page("/sql"))} if has_sql else {})


def _changes_since(manifest: Manifest | None, full: Export | None) -> Sequence[Export]:
    if manifest is None or full is None:
        return []
    return [export for export in manifest.exports if export.number > full.number]
