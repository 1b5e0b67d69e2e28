"""Series of counts by hour, day, week or month: of everything, of one subject, or of those with the most."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple

from readapi.errors import InvalidRequest
from readapi.index import buckets
from readapi.index.buckets import Bucket
from readapi.index.snapshots.interface import SeriesFiles
from schemas.datetimes import to_utc

Metric = Literal["likes", "likers", "plays", "comments", "tracks", "artists"]
Kind = Literal["all", "artist", "tag", "track"]
MOST: Final = 20  # subjects in one answer

# What is not bound are words of ours, and numbers.
_OF_SUBJECTS: Final = """
    select subject, date_trunc('{bucket}', {part})::timestamp as begin, sum({metric})::bigint
    from {kind}_{part}s
    where subject in ({subjects}) and {part} >= $since and {part} < $until
    group by subject, begin
"""
_BY_WEEK: Final = """
    select
        subject, date_trunc('week', day)::timestamp as week,
        sum(plays)::bigint, sum(likes)::bigint, sum(comments)::bigint
    from {kind}_days
    where subject in ({subjects}) and day >= $since and day < $until
    group by subject, week
    order by subject, week
"""
_WITH_MOST: Final = """
    select subject, sum({metric})::bigint as total
    from {kind}_{part}s
    where {part} >= $since and {part} < $until {public}
    group by subject
    having total > 0
    order by total desc, subject
    limit $most
"""
_NAMES: Final = "select subject, name from {kind}s where subject in ({subjects})"


@dataclass(frozen=True, slots=True)
class Span:
    """What is counted, and in which buckets: `begins` of each, and the end of the last."""

    metric: Metric
    bucket: Bucket
    begins: Sequence[datetime]
    until: datetime

    @property
    def part(self) -> str:
        """What the rows are of from which the buckets are made."""
        return "hour" if self.bucket == "hour" else "day"

    @property
    def ends(self) -> dict[str, Any]:
        """The beginning of the first bucket, and the end of the last, as the files have times."""
        return {"since": to_utc(self.begins[0]), "until": to_utc(self.until)}


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of one subject, one for each bucket."""

    subject: int
    values: list[int]


class Week(NamedTuple):
    """What one subject got in the week that begins so."""

    subject: int
    begin: datetime
    plays: int
    likes: int
    comments: int


def make_span(
    metric: Metric, bucket: Bucket, since: datetime | None, until: datetime, subjects: int = 1
) -> Span:
    """The buckets between two instants. Raises InvalidRequest when there are none, or too many."""
    since = buckets.default_begin(until, bucket) if since is None else since
    if since >= until:
        raise InvalidRequest.of_field("from", "from must be before to, which is the present by default.")
    begins = buckets.between(since, until, bucket)
    if len(begins) * subjects > buckets.MOST:
        raise InvalidRequest.of_field(
            "from", f"An answer has at most {buckets.MOST:,} buckets, of all its series together."
        )
    return Span(metric, bucket, begins, buckets.after(begins[-1], bucket))


def check_combination(metric: Metric, kind: Kind, bucket: Bucket) -> None:
    """Raises InvalidRequest for what cannot be counted."""
    if bucket == "hour" and metric != "plays":
        raise InvalidRequest.of_field("bucket", "Plays alone are counted by the hour.")
    if metric == "artists" and kind in ("artist", "track"):
        raise InvalidRequest.of_field("metric", "Artists are counted of everything or of a tag alone.")
    if metric == "likers" and kind == "tag":
        raise InvalidRequest.of_field("metric", "Likers are counted of everything, of artists or of tracks.")
    if metric == "tracks" and kind == "track":
        raise InvalidRequest.of_field("metric", "Tracks are counted of everything, of artists or of tags.")


async def find_with_most(files: SeriesFiles, kind: Kind, span: Span, most: int) -> list[int]:
    """The subjects with the most of it in the span, the most first. Of tracks, public ones alone."""
    public = "and is_public" if kind == "track" else ""
    query = _WITH_MOST.format(kind=kind, part=span.part, metric=span.metric, public=public)
    rows, _ = await files.rows(query, **span.ends, most=most)
    return [subject for subject, _ in rows]


async def find_names(files: SeriesFiles, kind: Kind, subjects: Sequence[int]) -> dict[int, str]:
    """DIDs of artists, or tags, by their numbers."""
    rows, _ = await files.rows(_NAMES.format(kind=kind, subjects=_listed(subjects)))
    return dict(rows)


async def count_series(
    files: SeriesFiles, kind: Kind, subjects: Sequence[int], span: Span
) -> tuple[list[Counted], datetime]:
    """The counts of each of these subjects, and when they were counted."""
    words = {"kind": kind, "metric": span.metric, "bucket": span.bucket, "part": span.part}
    rows, as_of = await files.rows(_OF_SUBJECTS.format(subjects=_listed(subjects), **words), **span.ends)
    found = {(subject, begin): count for subject, begin, count in rows}
    begins = [to_utc(begin) for begin in span.begins]
    return [Counted(one, [found.get((one, begin), 0) for begin in begins]) for one in subjects], as_of


async def count_weeks(
    files: SeriesFiles, kind: Literal["artist", "track"], subjects: Sequence[int], span: Span
) -> tuple[list[Week], datetime]:
    """The weeks of a span in which these subjects got anything, and when they were counted."""
    rows, as_of = await files.rows(_BY_WEEK.format(kind=kind, subjects=_listed(subjects)), **span.ends)
    return [Week(subject, begin.replace(tzinfo=UTC), *counts) for subject, begin, *counts in rows], as_of


def _listed(subjects: Sequence[int]) -> str:
    return ", ".join(map(str, subjects)) or "null"
