"""Comments, each at a position in a track."""

from pydantic import Field

from schemas.api.labels import LabelDetail
from schemas.api.shape import Address, Asked, Count, DidText, Page, PublicId, Shape, Time, UriText
from schemas.records import Moment, Remark


class Comment(Shape):
    """A comment at position `timestamp_ms` of a track."""

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
    labels: list[str] = Field(description="The values of `label_details`, each once.")
    label_details: list[LabelDetail] = Field(description="Who says what of the comment or its author.")


class CommentPage(Page):
    """A page of a track's comments, in order of their positions; `count` is the total.

    Of each account only the first comments are counted and listed: 20, unless the operator changed the limit.
    """

    comments: list[Comment]
    count: Count


class NewComment(Asked):
    """The text and position of a new comment."""

    text: Remark
    timestamp_ms: Moment


class CommentChange(Asked):
    """Changes to a comment: absent members stay."""

    text: Remark | None = None
    timestamp_ms: Moment | None = None
