"""The true size of an image, from the beginning of its blob at the owner's server."""

import io
from urllib.parse import urlencode

import imagesize

from indexer.batch import Picture
from indexer.identity import Resolver
from indexer.outbound import Outbound, OutboundError

HEAD_BYTES = 64 << 10
TIMEOUT_SECONDS = 10.0
LONGEST_SIDE = 65_535


async def measure(resolver: Resolver, outbound: Outbound, picture: Picture) -> tuple[int, int]:
    """Width and height; 0 × 0 for what is no image or not there. Raises OutboundError: try later."""
    facts = await resolver.resolve(picture.did)
    if facts.pds is None:
        return (0, 0)
    query = urlencode({"did": picture.did, "cid": picture.cid})
    url = f"{facts.pds}/xrpc/com.atproto.sync.getBlob?{query}"
    try:
        head = await outbound.fetch(url, HEAD_BYTES, TIMEOUT_SECONDS, whole=False, redirects=2)
    except OutboundError as error:
        if error.transient:
            raise
        return (0, 0)
    return size(head)


def size(head: bytes) -> tuple[int, int]:
    """Width and height that an image's first bytes tell; 0 × 0 when they tell none. Pure."""
    width, height = imagesize.get(io.BytesIO(head))
    if not (0 < width <= LONGEST_SIDE and 0 < height <= LONGEST_SIDE):
        return (0, 0)
    return (width, height)
