"""Who has a picture: the accounts whose records name its CID, if the viewer may see them."""

from typing import Final

from readapi.errors import NotFound
from readapi.index.lookups import Index
from schemas.access import Viewer
from schemas.ids import Cid, Did

MOST_OWNERS: Final = 3
NO_PICTURE: Final = "There is no such picture."


def find_owners(index: Index, cid: Cid, viewer: Viewer | None) -> tuple[list[Did], bool]:
    """The accounts that have this picture in a visible record, the oldest first, and whether all may see it.

    Visible is what a link leads to: unlisted tracks are, and private ones for their artist. A picture that
    was taken down by its CID has none. Raises NotFound.
    """
    if index.takedowns.now.covers_any((cid,)):
        raise NotFound(NO_PICTURE)
    for who in dict.fromkeys((None, viewer)):
        owners = list(dict.fromkeys(card.did for card in index.named_picture(cid, who)))
        if owners:
            return owners[:MOST_OWNERS], who is None
    raise NotFound(NO_PICTURE)
