"""Labels of accounts and records, in atproto's form without the signature (https://atproto.com/specs/label)."""

from pydantic import Field

from schemas.api.shape import DidText, Shape, Time


class LabelDetail(Shape):
    """One label: who says what of which account or record."""

    val: str
    src: DidText = Field(
        description="The labeler, this service for its operator, or the record's own account."
    )
    uri: str = Field(description="The DID or at-uri that the label is about.")
    cid: str | None = Field(description="The version that it is about; null for every version.")
    cts: Time
    exp: Time | None
