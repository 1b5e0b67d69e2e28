"""oEmbed 1.0 (https://oembed.com), of type rich."""

from typing import Literal

from schemas.api.shape import Address, Shape


class OEmbed(Shape):
    """A player to embed. The thumbnail fields are all present or all absent."""

    version: Literal["1.0"]
    type: Literal["rich"]
    provider_name: str
    provider_url: Address
    title: str
    author_name: str
    author_url: Address
    width: int
    height: int
    html: str
    thumbnail_url: Address | None = None
    thumbnail_width: int | None = None
    thumbnail_height: int | None = None
    cache_age: int
