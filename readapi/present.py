"""Ready-made cards → what this viewer gets: the last three members of a track depend on who asks.

Cards are the bytes of a JSON object without its closing brace; nothing here parses them.
"""

from collections.abc import Iterable
from functools import lru_cache

from schemas.access import Access, Viewer, may_download, may_listen

_TRUE, _FALSE = b"true", b"false"


def track(card: bytes, access: Access, viewer: Viewer | None, is_liked: bool = False) -> bytes:
    """A Track: the card, and what this viewer may do with it."""
    return card + (_stranger(access) if viewer is None else _tail(access, viewer, is_liked))


def array(items: Iterable[bytes]) -> bytes:
    """A JSON array of ready-made values."""
    return b"[" + b",".join(items) + b"]"


@lru_cache(maxsize=4096)
def _stranger(access: Access) -> bytes:
    return _tail(access, None, False)


def _tail(access: Access, viewer: Viewer | None, is_liked: bool) -> bytes:
    gated, downloadable = not may_listen(access, viewer), may_download(access, viewer)
    return b',"is_liked":%b,"gated":%b,"downloadable":%b}' % (
        _TRUE if is_liked else _FALSE,
        _TRUE if gated else _FALSE,
        _TRUE if downloadable else _FALSE,
    )
