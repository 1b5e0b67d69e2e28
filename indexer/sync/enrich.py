"""Identities of accounts and sizes of images: fetched by us, and put into the batch like events."""

import io
from collections.abc import Callable

import imagesize

from indexer.catalog.tables.images import ImageFact, Picture
from indexer.catalog.writing.intake import Intake
from indexer.network.http.client import Outbound, OutboundError, Unreachable
from indexer.network.identity.resolver import Resolver
from indexer.sync.states import Repos
from schemas.ids import Did
from schemas.pictures import blob_url

HEAD_BYTES = 64 << 10

TIMEOUT_SECONDS = 10.0

LONGEST_SIDE = 65_535


class Enrichment:
    """Each method is the work of a retry queue: it raises OutboundError to be tried again later.

    `resolved` is called for each account whose identity was resolved.
    """

    def __init__(
        self,
        resolver: Resolver,
        outbound: Outbound,
        intake: Intake,
        repos: Repos,
        resolved: Callable[[Did], None],
    ) -> None:
        self._resolver = resolver
        self._outbound = outbound
        self._intake = intake
        self._repos = repos
        self._resolved = resolved

    async def identity(self, did: Did) -> None:
        """Resolve an account's handle, PDS and signing key."""
        while True:
            facts = await self._resolver.resolve(did)
            await self._intake.room()
            if self._resolver.holds(facts):  # Else it was forgotten, or resolved again, meanwhile.
                break
        self._repos.learn(did, facts.signing_key, facts.pds)
        self._intake.batch.identities.append(facts)
        self._intake.added(1)
        self._resolved(did)
        if facts.handle is None:
            raise Unreachable("the handle cannot be checked")

    async def picture(self, picture: Picture) -> None:
        """Measure an image's width and height."""
        width, height = await measure_picture(self._resolver, self._outbound, picture)
        await self._intake.room()
        self._intake.batch.images.append(ImageFact(picture.cid, width, height))
        self._intake.added(1)


async def measure_picture(resolver: Resolver, outbound: Outbound, picture: Picture) -> tuple[int, int]:
    """Width and height; 0 × 0 for a blob that is missing or no image. Raises OutboundError: try later."""
    facts = await resolver.resolve(picture.did)
    if facts.pds is None:
        return (0, 0)
    url = blob_url(facts.pds, picture.did, picture.cid)
    try:
        head = await outbound.fetch(url, HEAD_BYTES, TIMEOUT_SECONDS, whole=False, redirects=2)
    except OutboundError as error:
        if error.transient:
            raise
        return (0, 0)
    return picture_size(head)


def picture_size(head: bytes) -> tuple[int, int]:
    """Width and height, read from an image's first bytes; 0 × 0 when they contain none. Pure."""
    width, height = imagesize.get(io.BytesIO(head))
    if not (0 < width <= LONGEST_SIDE and 0 < height <= LONGEST_SIDE):
        return (0, 0)
    return (width, height)
