"""Reads Tantivy's stored documents in place: the `.store` file of one segment, mapped into memory.

Tantivy's API copies a block, parses the document and makes objects of it, which costs fifteen times as much.
The file format is internal to Tantivy, so every marker of it is checked, and a file of another format is
refused: then callers use the API.
"""

import mmap
import os
import re
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise, repeat
from pathlib import Path
from struct import Struct
from typing import Final

import orjson

_END: Final = Struct("<II")  # how long the footer is, and a number that all of Tantivy's files end with
_MAGIC: Final = 1337
_INDEX_FORMAT: Final = 7
_STORE: Final = Struct("<IQB15x")  # version, where the list of blocks begins, how blocks are compressed
_STORE_VERSION: Final = 2
_UNCOMPRESSED: Final = 0
# Of the list at the end of a block: where each of its documents begins, and how many there are.
_ENTRY_BYTES: Final = 4
_NEIGHBOURS: Final = Struct("<II")
_VARINT: Final = re.compile(rb"[\x00-\x7f]*[\x80-\xff]")  # seven bits a byte, least first, the last marked
_MOST_HEAD_BYTES: Final = 128  # of the list of blocks: more than its layers ever need
_HEAD: Final = Struct("<BIB")  # of a document: how many fields it has; the field, and its type
_HEAD_BYTES: Final = _HEAD.size
_ONE_FIELD: Final = 0x81
_BYTES_TYPE: Final = 4
_WILL_NEED: Final[int | None] = getattr(mmap, "MADV_WILLNEED", None)
_AT_ONCE: Final = 128  # parts that one system call takes: a document may have 50 kB
_STRIDE: Final = 16  # documents from one whose block is noted to the next: a block of tracks has about 25


class UnknownFormat(ValueError):
    """The file is not of the format that this module reads."""


class DocumentStore:
    """The documents of one segment, by their number in it. Each stores a single field of bytes."""

    def __init__(self, path: Path) -> None:
        """Map the file. Raises UnknownFormat, or OSError."""
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._mapped, self._bytes = mapped, memoryview(mapped)
        self._firsts, self._bounds = _blocks(self._bytes)
        self._every_16th = array("I", _strides(self._firsts))
        self._entries = array("q", _entries(self._firsts, self._bounds))
        if hasattr(mmap, "MADV_RANDOM"):  # else 128 KiB are read from the disk for each document
            mapped.madvise(mmap.MADV_RANDOM)
        if self.count:
            fields, _, kind = _HEAD.unpack_from(self._bytes, 0)
            if (fields, kind) != (_ONE_FIELD, _BYTES_TYPE):
                raise UnknownFormat(f"{path.name}: not one field of bytes")

    @property
    def count(self) -> int:
        """How many documents there are, including deleted ones."""
        return self._firsts[-1]

    def get(self, number: int) -> memoryview:
        """The stored bytes of a document."""
        packed, firsts = self._bytes, self._firsts
        block = self._every_16th[number // _STRIDE]
        while firsts[block + 1] <= number:
            block += 1
        entry, start = self._entries[block] + _ENTRY_BYTES * number, self._bounds[block]
        begin, following = _NEIGHBOURS.unpack_from(packed, entry)
        at = start + begin + _HEAD_BYTES
        end = start + following if number + 1 < firsts[block + 1] else _end_of_documents(entry, following)
        # The length comes first, which is known already.
        return packed[at + (2 if 0x80 < end - at <= 0x4001 else _length_bytes(end - at)) : end]

    def read_ahead(self, numbers: Collection[int]) -> None:
        """Have the system read these documents from the disk at once, for `get`, which would wait for each.

        Of 3,000 that are on the disk alone each takes a fifth of the time, and a third of the CPU time. Other
        threads of Python run meanwhile, which `get` would hold up.
        """
        entries = list(map(self._entry, numbers))
        self._fetch([(entry, entry + _NEIGHBOURS.size) for entry, _, _ in entries])
        documents = []
        for entry, start, is_last in entries:
            begin, following = _NEIGHBOURS.unpack_from(self._bytes, entry)
            end = _end_of_documents(entry, following) if is_last else start + following
            documents.append((start + begin, end))
        self._fetch(documents)

    def _entry(self, number: int) -> tuple[int, int, bool]:
        """Where the file has the beginning of a document, counted from its block's.

        Then the beginning of the block, and whether the document is its last.
        """
        firsts, block = self._firsts, self._every_16th[number // _STRIDE]
        while firsts[block + 1] <= number:
            block += 1
        is_last = number + 1 == firsts[block + 1]
        return self._entries[block] + _ENTRY_BYTES * number, self._bounds[block], is_last

    def _fetch(self, parts: Sequence[tuple[int, int]]) -> None:
        """Have parts of the file in memory, each from where it begins to where it ends."""
        with suppress(OSError):  # nothing depends on it: without it `get` waits
            if _WILL_NEED is not None:
                for begin, end in parts:
                    first = begin & -mmap.PAGESIZE
                    self._mapped.madvise(_WILL_NEED, first, end - first)
            if not hasattr(os, "memfd_create"):
                return
            # To touch a page would wait with Python's lock held; a system call that copies it does not.
            with open(os.memfd_create("read-ahead"), "wb", buffering=0) as aside:
                for at in range(0, len(parts), _AT_ONCE):
                    copied = [self._bytes[begin:end] for begin, end in parts[at : at + _AT_ONCE]]
                    os.pwritev(aside.fileno(), copied, 0)


def _end_of_documents(entry: int, count: int) -> int:
    """Where a block's documents end, which is where its list begins.

    `entry`: where the file has the beginning of the block's last document. After it comes `count`, how many
    documents the block has.
    """
    return entry - _ENTRY_BYTES * (count - 1)


def _length_bytes(size: int) -> int:
    """How many bytes of a document's are its length, of which each has seven bits."""
    count = 1
    while size - count >> 7 * count:
        count += 1
    return count


def map_segments(
    folder: Path, meta: bytes, segments: int, known: Mapping[str, DocumentStore]
) -> dict[str, DocumentStore]:
    """The stores of an index's segments by name, in the order in which a searcher counts them.

    `meta`: the content of `meta.json` of the searcher's state, and `segments`: how many that searcher has.
    `known` are not mapped again, which takes 50 ms for a million documents. Raises UnknownFormat, or OSError.
    """
    try:
        listed = [
            (one["segment_id"].replace("-", ""), one["max_doc"]) for one in orjson.loads(meta)["segments"]
        ]
    except KeyError as error:
        raise UnknownFormat(f"meta.json without {error}") from error
    stores = {}
    for name, documents in listed:
        store = stores[name] = known.get(name) or DocumentStore(folder / f"{name}.store")
        if store.count != documents:
            raise UnknownFormat(f"{store.count} documents of {documents}")
    if len(stores) != segments:
        raise UnknownFormat(f"{len(stores)} segments of {segments}")
    return stores


def _blocks(written: memoryview) -> tuple["array[int]", "array[int]"]:
    """The first document of each block, and where each begins; both end with where the last one ends."""
    footer_bytes, magic = _END.unpack_from(written, len(written) - _END.size)
    footer_at = len(written) - _END.size - footer_bytes
    if magic != _MAGIC or footer_at < _STORE.size:
        raise UnknownFormat("no file of Tantivy's")
    footer = orjson.loads(written[footer_at : footer_at + footer_bytes])
    version, list_at, compression = _STORE.unpack_from(written, footer_at - _STORE.size)
    found = footer["version"]["index_format_version"], version, compression
    if found != (_INDEX_FORMAT, _STORE_VERSION, _UNCOMPRESSED):
        raise UnknownFormat(f"format, store and compression are {found}")
    documents, sizes = _read_list(written[list_at : footer_at - _STORE.size].tobytes())
    return array("I", accumulate(documents, initial=0)), array("Q", accumulate(sizes, initial=0))


def _strides(firsts: "array[int]") -> Iterator[int]:
    """The block of every 16th document: to search all of a large segment's costs more than all else."""
    for block, (first, following) in enumerate(pairwise(firsts)):
        yield from repeat(block, -(-following // _STRIDE) - -(-first // _STRIDE))


def _entries(firsts: "array[int]", bounds: "array[int]") -> Iterator[int]:
    """For each block, where the entry of the index's first document would be if the block had it, too."""
    for following, end in zip(firsts[1:], bounds[1:], strict=True):
        yield end - _ENTRY_BYTES * (following + 1)


def _read_list(written: bytes) -> tuple[list[int], list[int]]:
    """How many documents each block has, and how many bytes.

    The list is a tree: how many layers there are, where each ends, and the layers; the last names all blocks.
    """
    layers, *ends = _numbers(written[:_MOST_HEAD_BYTES])
    head_bytes = sum(map(len, _VARINT.findall(written, 0, _MOST_HEAD_BYTES)[: layers + 1]))
    begin, end = [0, 0, *ends[:layers]][-2:]
    numbers = _numbers(written[head_bytes + begin : head_bytes + end])
    documents: list[int] = []
    sizes: list[int] = []
    at = 0
    while at < len(numbers):
        # A handful of blocks: how many, the first's document and byte, and two numbers for each.
        following = at + 3 + 2 * numbers[at]
        documents += numbers[at + 3 : following : 2]
        sizes += numbers[at + 4 : following : 2]
        at = following
    return documents, sizes


class _Varints(dict[bytes, int]):
    """Numbers by the way they are written; most are written again and again."""

    def __missing__(self, written: bytes) -> int:
        number = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(written))
        self[written] = number
        return number


def _numbers(written: bytes) -> list[int]:
    return list(map(_Varints().__getitem__, _VARINT.findall(written)))
