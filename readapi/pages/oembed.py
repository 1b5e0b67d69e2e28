"""What oEmbed tells of a track, an album or a playlist (https://oembed.com), as JSON and as XML."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

from readapi.pages import frame, text
from readapi.pages.metadata import SITE_NAME
from schemas.api.oembed import OEmbed

CACHE_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Embeddable:
    """Something with a player. `image_size` is the picture's true size, if it is known."""

    title: str
    author: str
    author_page: str
    player: str
    width: int
    height: int
    image_url: str | None = None
    image_size: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Box:
    """The most room that whoever asks has for a player or a picture; None: as much as it likes."""

    width: int | None = None
    height: int | None = None

    def shrunk(self, width: int, height: int) -> tuple[int, int]:
        """A player's size, cut down to the room there is."""
        return min(width, self.width or width), min(height, self.height or height)

    def holds(self, size: tuple[int, int]) -> bool:
        """True when a picture of this size fits as it is: its address gives no smaller one."""
        return self.shrunk(*size) == size


def describe(shown: Embeddable, box: Box, provider_url: str) -> OEmbed:
    """The document. Its thumbnail members are all there or all absent."""
    width, height = box.shrunk(shown.width, shown.height)
    thumbnail: dict[str, str | int] = {}
    if text.is_web_address(shown.image_url) and shown.image_size and box.holds(shown.image_size):
        names = ("thumbnail_url", "thumbnail_width", "thumbnail_height")
        thumbnail = dict(zip(names, (shown.image_url, *shown.image_size), strict=True))  # type: ignore[arg-type]
    return OEmbed.model_validate(
        {
            "version": "1.0",
            "type": "rich",
            "provider_name": SITE_NAME,
            "provider_url": provider_url,
            "title": text.line(shown.title),
            "author_name": text.line(shown.author),
            "author_url": shown.author_page,
            "width": width,
            "height": height,
            "html": frame.iframe(shown.player, f"{shown.title} by {shown.author}", width, height),
            "cache_age": CACHE_SECONDS,
            **thumbnail,
        }
    )


def xml(document: OEmbed) -> bytes:
    """The same as XML."""
    members = document.model_dump(exclude_none=True).items()
    told = "".join(f"<{name}>{escape(str(value))}</{name}>" for name, value in members)
    return f'<?xml version="1.0" encoding="utf-8" standalone="yes"?>\n<oembed>{told}</oembed>\n'.encode()
