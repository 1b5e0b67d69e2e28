"""The cache of public answers: the same bytes serve all clients until the index or the snapshot changes."""

import hashlib
from collections import OrderedDict
from typing import Literal, NamedTuple

from isal import isal_zlib

from readapi.answers import Answer
from readapi.http.response.headers import PUBLIC, Caching

Way = Literal["plain", "gzip", "unchanged"]

SMALLEST_ZIPPED_BYTES = 4096
_GZIP = 31  # the largest window, and gzip's header and trailer
_SHORT_TAG_BYTES = 16  # what is no longer is shown as it is
FEWEST_NOTED = 4096  # addresses, however few answers are kept
_OVERHEAD_BYTES = 1000  # of an entry's Python objects, besides its body


class Form(NamedTuple):
    """One encoding of an answer. The head lacks the headers that differ per request, and its last line."""

    status: int
    head: bytes
    body: bytes


class Kept:
    """A cached answer, its ETag, the pattern of its route, and who may cache it downstream.

    Each of its forms is made when first needed.
    """

    __slots__ = ("answer", "caching", "etag", "forms", "route")

    def __init__(self, answer: Answer[object], route: str, caching: Caching = PUBLIC) -> None:
        self.answer = answer
        self.route = route
        self.caching = caching
        self.forms: dict[Way, Form] = {}
        # Weak, because the same tag names the plain and the compressed form.
        tag = answer.tag or answer.body
        if len(tag) > _SHORT_TAG_BYTES:
            # Most processors have instructions for it: half the time of BLAKE2.
            tag = hashlib.sha256(tag).digest()[:_SHORT_TAG_BYTES]
        self.etag = f'W/"{tag.hex()}"'

    def zipped(self) -> bytes:
        """The body as gzip."""
        return isal_zlib.compress(self.answer.body, level=1, wbits=_GZIP)


class AnswerCache:
    """The most recently used answers of one version of the stores, up to a number of bytes.

    An answer is kept when its address is asked for a second time, whatever the version: to keep one costs as
    much as to make a small one, and a crawler, which asks for each address once, leaves the others alone.
    """

    def __init__(self, most_bytes: int) -> None:
        self.hits = 0
        self.misses = 0
        self.bytes = 0
        self._most_bytes = most_bytes
        self._version: object = None
        self._kept: OrderedDict[str, tuple[Kept, int]] = OrderedDict()
        # Hashes of addresses that were asked for once: the newest, and as many before them.
        self._noted: set[int] = set()
        self._noted_before: set[int] = set()

    def find(self, address: str, version: object) -> Kept | None:
        """The cached answer for an address, if it was made from this version of the stores."""
        if version != self._version:
            self._kept.clear()
            self.bytes = 0
            self._version = version
        found = self._kept.get(address)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._kept.move_to_end(address)
        return found[0]

    def keep(self, address: str, version: object, kept: Kept) -> None:
        """Cache an answer that was asked for before, unless the stores changed while it was made."""
        # Half as much again, for the compressed form that may follow.
        size = len(kept.answer.body) * 3 // 2 + len(address) + _OVERHEAD_BYTES
        if version != self._version or size > self._most_bytes or address in self._kept:
            return
        if not self._note(address):
            return
        # orjson's bytes keep the room of the buffer in which they were written, 4 KB at least.
        # The tag, of which there is an ETag now, may be as long as the body.
        kept.answer = kept.answer._replace(body=bytes(memoryview(kept.answer.body)), tag=b"")
        self._kept[address] = (kept, size)
        self.bytes += size
        while self.bytes > self._most_bytes:
            _, (_, freed) = self._kept.popitem(last=False)
            self.bytes -= freed

    def _note(self, address: str) -> bool:
        """Note the address. Returns whether it was noted before, at most about two caches' worth ago."""
        name = hash(address)
        if name in self._noted or name in self._noted_before:
            return True
        if len(self._noted) >= max(FEWEST_NOTED, len(self._kept)):
            self._noted_before, self._noted = self._noted, set()
        self._noted.add(name)
        return False
