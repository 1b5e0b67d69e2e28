"""Tags, and the tracks that carry one."""

from schemas.api.shape import Count, Page, Shape
from schemas.api.tracks import Track


class Tag(Shape):
    """A tag and how much it is used."""

    name: str
    track_count: Count
    total_plays: Count


class TagHead(Shape):
    """The tag of a page of tracks."""

    name: str
    track_count: Count


class TaggedTrackPage(Page):
    """A page of the tracks with one tag, newest first."""

    tag: TagHead
    tracks: list[Track]
