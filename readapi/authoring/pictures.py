"""Pictures that people send: told by their content, and stored at their own server."""

from readapi.errors import InvalidRequest, TooLarge
from readapi.pds import Author, Pds, Value
from schemas.bounds import MAX_IMAGE_BYTES

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def media_type(picture: bytes) -> str | None:
    """What a picture is, whatever its name says; None when it is none that browsers show."""
    if picture[:4] == b"RIFF" and picture[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _BEGINNINGS if picture.startswith(beginning)), None)


NO_PICTURE = "must be a PNG, JPEG, WebP or GIF picture"
TOO_LARGE = f"The picture is larger than the {MAX_IMAGE_BYTES:,} bytes that a record may hold."


async def upload(pds: Pds, author: Author, picture: bytes) -> Value:
    """The picture as records hold it. Raises InvalidRequest, TooLarge, and what `Pds` raises."""
    kind = media_type(picture)
    if kind is None:
        raise InvalidRequest.of_field("image", NO_PICTURE)
    if len(picture) > MAX_IMAGE_BYTES:
        raise TooLarge(TOO_LARGE)
    return await pds.upload(author, picture, kind)
