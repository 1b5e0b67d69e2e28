"""Series: counts by hour, day, week or month."""

from typing import Literal

from pydantic import Field

from schemas.api.shape import Count, Shape, Time


class OneSeries(Shape):
    """The counts of one subject."""

    of: Literal["all", "artist", "tag", "track"]
    subject: str | None = Field(description="The artist's DID, the tag, or the track's at-uri; null for all.")
    title: str | None = Field(description="The artist's handle, the tag, or the track's title; null for all.")
    total: Count
    values: list[Count] = Field(description="A count for each of `buckets`.")


class Series(Shape):
    """Counts of what everybody may see, as of `as_of`."""

    metric: Literal["likes", "likers", "plays", "comments", "tracks", "artists"]
    bucket: Literal["hour", "day", "week", "month"]
    buckets: list[Time] = Field(description="When each bucket begins, in UTC. Weeks begin on Monday.")
    until: Time = Field(description="When the last bucket ends.")
    series: list[OneSeries]
    as_of: Time
