"""Finds a picture in a size for a viewer: who may see it is looked up before it is fetched and after."""

from readapi.audio.source import FileSource
from readapi.index.lookups import Index
from readapi.index.queries import pictures
from readapi.pictures.cache import Pictures
from schemas.access import Viewer
from schemas.ids import Cid
from schemas.pictures import Side


async def find_visible(
    index: Index, found: Pictures, cid: Cid, side: Side, viewer: Viewer | None, client: str
) -> tuple[FileSource, bool]:
    """The picture, and whether everybody may see it. `client`: the network address of who has no account.

    Raises NotFound and PdsUnavailable.
    """
    owners, _ = pictures.find_owners(index, cid, viewer)
    source = await found.find(cid, side, owners, client if viewer is None else viewer.did)
    # The takedown may have come while it was fetched.
    _, is_public = pictures.find_owners(index, cid, viewer)
    return source, is_public
