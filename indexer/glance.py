"""A first look at a relay's frames: commits of strangers need no decoding. Pure.

A frame passes when it begins, byte for byte, as a commit of one operation does in DAG-CBOR, its path begins
as none of our collections does, and its repo is no account of ours. DAG-CBOR sorts keys and never splits
strings: the path comes before the repo, and the name of a collection stands in it whole.

The text of a path may imitate the key `repo`. Its beginning is seen all the same, so this can do no more
than let a commit of the sender's own pass in which nothing is ours: if his account is one of ours, his next
commit does not follow from what we have, and his repo is fetched. Nothing else is read from a frame that
passes, least of all its number.
"""

from collections.abc import Container
from os.path import commonprefix
from typing import Final

from indexer import envelope
from schemas.ids import Did, Nsid

_HEADER: Final = b"\xa2at\x67#commitbop\x01"  # {"t": "#commit", "op": 1}
_LINK: Final = b"\xd8*X%\x00"  # and 36 bytes
_DELETED: Final = b"\xf6dpat"  # null, and the next key up to the length of the above

# How a commit of one operation begins, whatever the number of its fields -> where the operation's path is.
_BEGINNINGS: Final = {
    _HEADER + bytes([0xA0 + fields]) + b"cops\x81" + operation + b"ccid" + cid: path_at
    for fields in range(24)
    for operation in (b"\xa3", b"\xa4")
    for cid, path_at in ((_LINK, 67), (_DELETED, 27))
}
_LENGTH: Final = 31
_PATH: Final = b"dpathx"  # "path": a text whose length is the next byte
_REPO: Final = b"drepox"


class Glance:
    """Looks at frames that came together, in their order; `begin` before the first."""

    def __init__(self, collections: frozenset[Nsid], tracked: Container[Did]) -> None:
        # Names that only begin as ours do are left to the decoder; without a common beginning, all are.
        self._name = commonprefix(sorted(collections)).encode()  # noqa: RUF071 - of names, not of paths
        self._tracked = tracked
        self._waiting: set[str] = set()

    def begin(self) -> None:
        """Everything that was looked at before is worked off, and `tracked` knows of it."""
        self._waiting.clear()

    def passes(self, raw: bytes) -> bool:
        """True when the frame needs no decoding."""
        path_at = _BEGINNINGS.get(raw[:_LENGTH])
        if path_at is None and not raw.startswith(_HEADER):
            return False
        at = raw.find(_REPO, path_at or len(_HEADER), -1)
        if at < 0 or len(raw) > envelope.MAX_FRAME_BYTES:
            return False
        begin = at + 7
        try:
            repo = raw[begin : begin + raw[at + 6]].decode()
        except ValueError:
            return False
        if (
            path_at is not None
            and raw[path_at : path_at + 6] == _PATH
            and not raw.startswith(self._name, path_at + 7)
            and repo not in self._tracked
            and repo not in self._waiting
        ):
            return True
        # This commit may make its account one of ours, and then what follows is no stranger's.
        self._waiting.add(repo)
        return False
