"""Uploaded pictures: identified by content, and stored as blobs at the account's own server."""

from readapi.errors import InvalidRequest, TooLarge
from readapi.pds.repo import Author, Pds, Value
from schemas.bounds import MAX_IMAGE_BYTES
from schemas.errors import FieldError

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def media_type(picture: bytes) -> str | None:
    """A picture's media type by its content; None when browsers cannot show it."""
    if picture[:4] == b"RIFF" and picture[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _BEGINNINGS if picture.startswith(beginning)), None)


NO_PICTURE = "must be a PNG, JPEG, WebP or GIF picture"
TOO_LARGE = f"The picture is larger than the {MAX_IMAGE_BYTES:,} bytes that a record may hold."


def too_large() -> TooLarge:
    """The refusal of a picture over the lexicon's limit."""
    return TooLarge(TOO_LARGE, errors=[FieldError(field="image", message=TOO_LARGE)])


async def upload_image(pds: Pds, author: Author, picture: bytes) -> Value:
    """Upload a picture as a blob, and return the blob. Raises InvalidRequest, TooLarge, and as `Pds` does."""
    kind = media_type(picture)
    if kind is None:
        raise InvalidRequest.of_field("image", NO_PICTURE)
    if len(picture) > MAX_IMAGE_BYTES:
        raise too_large()
    return await pds.upload(author, picture, kind)
