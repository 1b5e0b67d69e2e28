"""Series of counts over time."""

import csv
import io
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from readapi.answers import JSON, Answer, render_json
from readapi.errors import InvalidRequest, NotFound
from readapi.http.endpoint import Routes
from readapi.index import buckets
from readapi.index.buckets import Bucket
from readapi.index.lookups import Index
from readapi.index.queries import artists, series, tags, tracks
from readapi.index.queries.identifiers import ArtistName, TrackName
from readapi.index.queries.series import Kind, Metric
from readapi.index.snapshots.interface import SeriesFiles
from schemas import datetimes
from schemas.api.series import OneSeries, Series
from schemas.ids import Did
from schemas.series import subject_of

routes = Routes("data")

CSV = "text/csv; charset=utf-8"


def _instant(text: str) -> str:
    buckets.read_instant(text)
    return text


Instant = Annotated[
    str,
    AfterValidator(_instant),
    Field(description="A date, such as 2026-01-31, or a datetime with a timezone."),
]
SeriesLimit = Annotated[int, Field(ge=1, le=series.MOST, description="How many subjects, with `by`.")]
By = Literal["artist", "tag", "track"]
Subject = tuple[str, str]  # its name and its title, as OneSeries has them


@routes.get("/stats/series", raises=(NotFound,), media_types=(JSON, "text/csv"), prompt=True)
async def count_series(
    index: Index,
    files: SeriesFiles,
    metric: Metric = "likes",
    bucket: Bucket = "day",
    from_: Instant | None = None,
    to_: Instant | None = None,
    artist: ArtistName | None = None,
    tag: str | None = None,
    track: TrackName | None = None,
    by: By | None = None,
    limit: SeriesLimit = 5,
    format: Literal["json", "csv"] = "json",
) -> Answer[Series]:
    """Count likes, likers, plays, comments, tracks or artists by hour, day, week or month.

    Of everything, of one `artist`, `tag` or `track`, or, with `by`, of those that have the most of it in this
    time. Buckets are in UTC and whole: `from` is moved to the beginning of its bucket, `to` to the end of its
    own. Without `from` there are 30, up to the present. An answer has at most 1,000 buckets, of all
    its series together.

    A record counts when it was created or first seen, whichever is earlier. An account's likes of one track
    count once, at the first; an artist counts with the first track, and a liker with the first like of
    anything of the subject: the buckets of all time add up to the number of accounts. What counts is
    what the open data has: public tracks that are not for adults. Unlisted ones and those for adults count
    for themselves alone. Plays are known by the hour since this service keeps them so, at most three years;
    nothing else is counted by the hour.
    """
    named = {"artist": artist, "tag": tag, "track": track, "by": by}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise InvalidRequest.of_field(given[1], "Give one of artist, tag, track and by.")
    kind: Kind = by or ("artist" if artist else "tag" if tag else "track" if track else "all")
    series.check_combination(metric, kind, bucket)
    until = datetimes.this_minute() if to_ is None else buckets.read_instant(to_)
    since = None if from_ is None else buckets.read_instant(from_)
    span = series.make_span(metric, bucket, since, until, 1 if by is None else limit)
    if by is not None:
        subjects = await _with_most(index, files, by, await series.find_with_most(files, by, span, limit))
    elif artist is not None:
        card = artists.find_artist(index, artist)
        subjects = {
            subject_of(card.did): (card.did, artists.name_people(index, [card.did])[card.did]["handle"])
        }
    elif tag is not None:
        name = tags.find_tag(index, tag).name
        subjects = {subject_of(name): (name, name)}
    elif track is not None:
        card = tracks.find_track(index, track, None)
        subjects = {card.key: _of_track(tracks.parse_card(card))}
    else:
        subjects = {}
    counted, as_of = await series.count_series(files, kind, list(subjects) or [0], span)
    answer = Series(
        metric=metric,
        bucket=bucket,
        buckets=[datetimes.render(begin) for begin in span.begins],
        until=datetimes.render(span.until),
        series=[
            OneSeries(of=kind, subject=subject, title=title, total=sum(one.values), values=one.values)
            for one in counted
            for subject, title in [subjects.get(one.subject, (None, None))]
            if subject is not None or kind == "all"
        ],
        as_of=datetimes.render(as_of),
    )
    return Answer(_as_csv(answer), CSV) if format == "csv" else Answer(render_json(answer))


async def _with_most(index: Index, files: SeriesFiles, by: By, subjects: list[int]) -> dict[int, Subject]:
    """Name and title of those of these subjects that everybody may see now, in their order."""
    if by == "track":
        cards = {card.key: card for card in tracks.filter_visible(index.tracks(subjects), None, "discovery")}
        return {one: _of_track(tracks.parse_card(cards[one])) for one in subjects if one in cards}
    names = await series.find_names(files, by, subjects)
    if by == "tag":
        return {one: (names[one], names[one]) for one in subjects if one in names}
    people = artists.name_people(index, [Did(name) for name in names.values()])
    return {one: (names[one], people[names[one]]["handle"]) for one in subjects if one in names}


def _of_track(known: dict[str, str]) -> Subject:
    return known["uri"], known["title"]


def _as_csv(answer: Series) -> bytes:
    """A line for each bucket of each series, without titles: spreadsheets may run a text of an account."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(("bucket", "of", "subject", answer.metric))
    for one in answer.series:
        for begin, value in zip(answer.buckets, one.values, strict=True):
            writer.writerow((begin, one.of, one.subject or "", value))
    return text.getvalue().encode()
