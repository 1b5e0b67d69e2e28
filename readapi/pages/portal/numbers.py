"""An artist's numbers: plays, likes and comments of each track by the week, for the page and as CSV. Pure."""

import csv
import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from readapi.index.queries.series import Week
from readapi.pages.public import data_views
from readapi.pages.public.data_views import Chart
from schemas.api.tracks import Track

COLUMNS = ("plays", "likes", "comments")


@dataclass(frozen=True, slots=True)
class Total:
    """What one of the artist's tracks got in all the weeks."""

    id: int
    title: str
    plays: int
    likes: int
    comments: int


def draw_charts(begins: Sequence[datetime], weeks: Sequence[Week]) -> list[Chart]:
    """A chart for each column of one subject's weeks."""
    found = {week.begin: week for week in weeks}
    return [
        data_views.draw(
            column.capitalize(),
            begins,
            [getattr(found[begin], column) if begin in found else 0 for begin in begins],
        )
        for column in COLUMNS
    ]


def add_up(tracks: Mapping[int, Track], weeks: Sequence[Week]) -> list[Total]:
    """The totals of the tracks, which are given by the keys that the weeks name, in their order."""
    sums: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for subject, _, *counts in weeks:
        sums[subject] = [total + count for total, count in zip(sums[subject], counts, strict=True)]
    return [Total(track.id, track.title, *sums[key]) for key, track in tracks.items()]


def write_csv(uris: Mapping[int, str], weeks: Sequence[Week]) -> bytes:
    """A line for each week in which a track got anything, without titles: spreadsheets may run texts."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(("week", "track", *COLUMNS))
    for subject, begin, *counts in weeks:
        writer.writerow((begin.date().isoformat(), uris[subject], *counts))
    return text.getvalue().encode()
