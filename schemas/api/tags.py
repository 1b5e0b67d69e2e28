"""Tags, and the tracks that carry one."""

from schemas.api.shape import Count, Page, Shape
from schemas.api.tracks import Track


class Tag(Shape):
    """A tag and how much it is used."""

    name: str
    track_count: Count
    total_plays: Count


class TagHead(Shape):
    """The tag that a page of tracks is about."""

    name: str
    track_count: Count


class TaggedTrackPage(Page):
    """Some tracks that carry one tag, newest first."""

    tag: TagHead
    tracks: list[Track]
