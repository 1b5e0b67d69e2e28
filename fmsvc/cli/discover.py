"""`fmsvc search`, `top`, `stats` and `discover series`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from fmsvc.cli import columns
from fmsvc.cli.arguments import Limit, PerKind, read_types
from fmsvc.cli.output import PLAIN, Output
from fmsvc.cli.service import THE_SERVICE, Service


def search(
    query: str,
    *,
    type: Annotated[
        str | None,
        Parameter(help="Some of tracks, artists, albums, playlists and tags, with commas between."),
    ] = None,
    limit: PerKind = 20,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """Search tracks, artists, albums, playlists and tags.

    Parameters
    ----------
    query
        What to search for: 2 to 100 characters.
    """
    kinds = None if type is None else read_types(type)
    with service.open() as client:
        found = client.discover.search(query, type=kinds, limit=limit)
    output.rows(found.results, ("type", "id", "title", "by"), _shown)


def list_top(
    *,
    limit: Limit = 10,
    period: Annotated[
        Literal["all_time", "month", "week", "day"] | None, Parameter(help="Likes of this time only.")
    ] = None,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """List the tracks with the most likes."""
    with service.open() as client:
        output.rows(client.discover.top_tracks(limit=limit, period=period), columns.LIKED_TRACKS)


def show_stats(*, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """Show totals over everything public."""
    with service.open() as client:
        output.item(client.stats())


def show_series(
    metric: Literal["likes", "likers", "plays", "comments", "tracks", "artists"] = "likes",
    *,
    bucket: Annotated[
        Literal["hour", "day", "week", "month"], Parameter(help="How long each line counts.")
    ] = "day",
    since: Annotated[
        str | None, Parameter(help="A date, or a datetime with a timezone. Default: 30 buckets ago.")
    ] = None,
    until: Annotated[str | None, Parameter(help="The same. Default: now.")] = None,
    artist: Annotated[str | None, Parameter(help="Of this handle or DID.")] = None,
    tag: Annotated[str | None, Parameter(help="Of this tag.")] = None,
    track: Annotated[str | None, Parameter(help="Of the track with this id.")] = None,
    by: Annotated[
        Literal["artist", "tag", "track"] | None, Parameter(help="Of each of those that have the most.")
    ] = None,
    limit: Annotated[int, Parameter(help="How many, with --by.")] = 5,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """Count likes, plays, comments, tracks or artists over time.

    Parameters
    ----------
    metric
        What to count.
    """
    with service.open() as client:
        found = client.discover.series(
            metric, bucket=bucket, since=since, until=until,
            artist=artist, tag=tag, track=track, by=by, limit=limit,
        )  # fmt: skip
    rows = (
        {
            "begins": begins.isoformat(),
            "of": one.of,
            "title": one.title,
            "subject": one.subject,
            metric: count,
        }
        for one in found.series
        for begins, count in zip(found.buckets, one.values, strict=True)
    )
    output.rows(rows, ("begins", "title", metric))


def _shown(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result of any type, in the columns that all have."""
    if result["type"] == "artist":
        names = ("did", "display_name", "handle")
    elif result["type"] == "playlist":
        names = ("id", "name", "owner_display_name")
    elif result["type"] == "tag":
        names = ("id", "name", "")
    else:
        names = ("id", "title", "artist_display_name")
    shown = zip(("id", "title", "by"), map(result.get, names), strict=True)
    return {"type": result["type"], **dict(shown)}
