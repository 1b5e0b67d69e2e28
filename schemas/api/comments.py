"""Comments, each at a moment of a track."""

from schemas.api.shape import Count, Page, PublicId, Shape, Time


class Comment(Shape):
    """What somebody said at `timestamp_ms` of a track."""

    id: PublicId
    uri: str
    user_did: str
    user_handle: str
    user_display_name: str | None
    user_avatar_url: str | None
    text: str
    timestamp_ms: Count
    created_at: Time
    updated_at: Time | None


class CommentPage(Page):
    """Comments of one track by the moment they stand at; `count` is of all of them."""

    comments: list[Comment]
    count: Count
