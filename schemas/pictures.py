"""Pictures of records: their blobs' URLs at a PDS, and the sizes that this service makes of them. Pure."""

import re
from typing import Final, Literal, get_args
from urllib.parse import parse_qs, quote, urlsplit

from schemas.ids import Cid, is_cid

Side = Literal[96, 300, 800]  # the longest side in pixels; smaller pictures are not enlarged
SIDES: Final[tuple[Side, ...]] = get_args(Side)
LARGEST: Final[Side] = 800

_GET_BLOB: Final = "/xrpc/com.atproto.sync.getBlob"
# As `blob_url` writes it, for most PDSes.
_AS_WRITTEN: Final = re.compile(
    rf"https?://[a-zA-Z0-9.:-]+{re.escape(_GET_BLOB)}\?did=[a-z0-9:.-]+&cid=([a-z0-9]+)"
)


def blob_url(pds: str, did: str, cid: str) -> str:
    """The URL of an account's blob at its PDS."""
    return f"{pds}{_GET_BLOB}?did={quote(did, safe=':')}&cid={cid}"


def picture_of(url: str | None) -> Cid | None:
    """The CID in such a URL; None for any other URL, whose picture this service does not show."""
    if url is None or _GET_BLOB not in url:
        return None
    written = _AS_WRITTEN.fullmatch(url)
    if written is not None:
        return Cid(written[1]) if is_cid(written[1]) else None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    named = parse_qs(parts.query).get("cid", [])
    return Cid(named[0]) if parts.path.endswith(_GET_BLOB) and named and is_cid(named[0]) else None


def fit_picture(size: tuple[int, int], side: int) -> tuple[int, int]:
    """Width and height of a picture, reduced until its longest side is `side`."""
    longest = max(size)
    if longest <= side:
        return size
    width, height = (max(1, round(length * side / longest)) for length in size)
    return width, height
