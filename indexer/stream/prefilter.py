"""Drops a relay's irrelevant frames without decoding them: untracked accounts, other collections. Pure.

A frame passes when its bytes begin like a DAG-CBOR commit of one operation, its path does not begin with the
common prefix of our collections, and its repo is not a tracked account. DAG-CBOR sorts keys and never splits
strings: the path comes before the repo, and contains the collection's name in one piece.

A path's text may imitate the key `repo`. Since the path's beginning is checked anyway, such a frame can only
hide a commit of the sender's own that has no record of our collections: if the account is tracked, its next
commit does not chain, and the repo is fetched. Nothing else is read from a frame that passes, not even a seq.
"""

from collections.abc import Container
from os.path import commonprefix
from typing import Final

from indexer.repo.limits import MAX_FRAME_BYTES
from schemas.ids import Did, Nsid

_HEADER: Final = b"\xa2at\x67#commitbop\x01"  # {"t": "#commit", "op": 1}
_LINK: Final = b"\xd8*X%\x00"  # and 36 bytes
_DELETED: Final = b"\xf6dpat"  # null, and the beginning of the next key, as many bytes as _LINK

# The first bytes of a commit of one operation, for every number of fields -> the offset of its path.
_BEGINNINGS: Final = {
    _HEADER + bytes([0xA0 + fields]) + b"cops\x81" + operation + b"ccid" + cid: path_at
    for fields in range(24)
    for operation in (b"\xa3", b"\xa4")
    for cid, path_at in ((_LINK, 67), (_DELETED, 27))
}
_LENGTH: Final = 31
_PATH: Final = b"dpathx"  # "path": a text whose length is the next byte
_REPO: Final = b"drepox"


class Prefilter:
    """Checks frames in order, as they arrive; call `begin` when the consumer takes those that stayed."""

    def __init__(self, collections: frozenset[Nsid], tracked: Container[Did]) -> None:
        # Other names with this prefix are left to the decoder; without a common prefix, all frames are.
        self._name = commonprefix(sorted(collections)).encode()  # noqa: RUF071 - of names, not of paths
        self._name_end = 7 + len(self._name)  # after the path's beginning
        self._tracked = tracked
        # Accounts with a commit that waits for the consumer, or that the consumer is processing: it may make
        # the account a tracked one, so that account's later frames do not pass.
        self._unprocessed: set[str] = set()
        self._waiting: set[str] = set()

    def begin(self) -> None:
        """Start a new bunch: the consumer has processed the frames of the one before, and takes the next."""
        self._waiting, self._unprocessed = set(), self._waiting

    def passes(self, raw: bytes) -> bool:
        """True when the frame needs no decoding."""
        path_at = _BEGINNINGS.get(raw[:_LENGTH])
        if path_at is None and not raw.startswith(_HEADER):
            return False
        key_at = raw.find(_REPO, path_at or len(_HEADER))
        if key_at < 0 or len(raw) > MAX_FRAME_BYTES:
            return False
        did_at = key_at + 7
        try:
            repo = raw[did_at : did_at + raw[did_at - 1]].decode()
        except (IndexError, ValueError):
            return False
        if (
            path_at is not None
            and raw[path_at : path_at + 6] == _PATH
            and raw[path_at + 7 : path_at + self._name_end] != self._name
            and repo not in self._tracked
            and repo not in self._unprocessed
        ):
            return True
        self._unprocessed.add(repo)
        self._waiting.add(repo)
        return False
