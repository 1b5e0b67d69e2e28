"""Comments, each at a moment of a track."""

from schemas.api.shape import Address, Asked, Count, DidText, Page, PublicId, Shape, Time, UriText
from schemas.records import Moment, Remark


class Comment(Shape):
    """A comment at `timestamp_ms` of a track."""

    id: PublicId
    uri: UriText
    user_did: DidText
    user_handle: str
    user_display_name: str | None
    user_avatar_url: Address | None
    text: str
    timestamp_ms: Count
    created_at: Time
    updated_at: Time | None


class CommentPage(Page):
    """Comments of one track by the moment they stand at; `count` is of all of them.

    Of one account the first ones are counted and listed, 20 unless this service is set otherwise.
    """

    comments: list[Comment]
    count: Count


class NewComment(Asked):
    """What to say, and at which moment."""

    text: Remark
    timestamp_ms: Moment


class CommentChange(Asked):
    """What to say instead; what is not given stays."""

    text: Remark | None = None
    timestamp_ms: Moment | None = None
