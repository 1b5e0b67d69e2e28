"""Artists: accounts that wrote at least one indexed record."""

from typing import Annotated

from pydantic import AfterValidator, Field

from schemas.api.labels import LabelDetail
from schemas.api.shape import Address, Asked, DidText, Shape, Time
from schemas.fields import Text, is_uri
from schemas.records import DisplayName, Prose


def _check_web_address(text: str) -> str:
    """Accept an empty text, which clears the field."""
    if text and not (is_uri(text) and text.startswith(("https://", "http://"))):
        raise ValueError("must be a web address that begins with https:// or http://")
    return text


class Artist(Shape):
    """An account's profile. Accounts without a profile record have only what their identity tells."""

    did: DidText
    handle: str
    display_name: str | None
    bio: str | None
    avatar_url: Address | None
    support_url: Address | None
    show_liked_on_profile: bool
    created_at: Time | None
    updated_at: Time | None
    labels: list[str] = Field(description="The values of `label_details`, each once.")
    label_details: list[LabelDetail]


class Person(Shape):
    """An account as it appears in lists."""

    did: DidText
    handle: str
    display_name: str | None
    avatar_url: Address | None


class ProfileChange(Asked):
    """Changes to the profile: absent members stay; an empty text or null clears."""

    display_name: DisplayName | None = None
    bio: Prose | None = None
    support_url: Annotated[str, Text(max_bytes=2048), AfterValidator(_check_web_address)] | None = None
    show_liked_on_profile: bool | None = None
