"""The change log: what was published and what ceased to be, in files that the indexer appends to.

A segment, `changes/N.log`, holds the changes after position N: a frame for each transaction, the oldest
first. Positions are Unix microseconds, made strictly increasing, so they go on rising after the log or the
catalogue was lost. A frame is a header (`HEADER`, big-endian) and a body: a JSON array, a newline, and the
records of the changes one after another, as DAG-CBOR. The array holds the outbox entry up to which the search
index shows the frame's changes, and a list of these, each as the members of `Entry` with the length of the
record in place of it. They have the positions up to the header's, one each.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

Operation = str  # create, update, delete, hide, show: of a record; account, identity: of an account

HEADER: Final = struct.Struct(">QII")  # position of the last change, length of the body, its CRC-32
_NAME_DIGITS: Final = 20


class Entry(NamedTuple):
    """A change without its position.

    `key`: of the record's at-uri, or of the DID. `artist`: whose track, list or profile it is about.
    `tags`: of the track, before and after. `fields`: of a record its collection, record key, rev, CID
    (None where the record ceases to be published) and the key of the track that it likes or comments; of an
    account whether it is shown and the status that hides it; of an identity the handle.
    """

    operation: Operation
    did: str
    key: int
    artist: str
    tags: Sequence[str]
    fields: Sequence[Any]
    record: bytes = b""


class Change(NamedTuple):
    """A change in the log. `op`: the outbox entry up to which the search index shows it."""

    position: int
    op: int
    entry: Entry


class Segment(NamedTuple):
    """A file of the log. `after`: the position before its first change."""

    after: int
    path: Path


def make_frame(entries: Sequence[Entry], position: int, op: int) -> bytes:
    """The frame of a transaction. `position`: of its last change."""
    records = [entry[-1] for entry in entries]
    listed = [(*entry[:-1], len(entry[-1])) for entry in entries]
    body = b"%b\n%b" % (orjson.dumps((op, listed)), b"".join(records))
    return HEADER.pack(position, len(body), zlib.crc32(body)) + body


def frame_ends(content: bytes, start: int = 0) -> Iterator[tuple[int, int, int]]:
    """Of each whole frame the last position, where its body begins and where it ends.

    Ends before a frame that is incomplete or damaged.
    """
    at = start
    while (body_at := at + HEADER.size) <= len(content):
        position, length, check = HEADER.unpack_from(content, at)
        at = body_at + length
        if at > len(content) or check != zlib.crc32(memoryview(content)[body_at:at]):
            return
        yield position, body_at, at


def read_changes(content: bytes, after: int, start: int = 0) -> Iterator[Change]:
    """The changes after a position in whole frames."""
    for last, body_at, end in frame_ends(content, start):
        if last > after:
            yield from read_body(last, content[body_at:end], after)


def read_body(last: int, body: bytes, after: int = 0) -> Iterator[Change]:
    """The changes of one frame after a position."""
    listed, _, records = body.partition(b"\n")
    op, entries = orjson.loads(listed)
    position, at = last - len(entries), 0
    for operation, did, key, artist, tags, fields, length in entries:
        position += 1
        if position > after:
            entry = Entry(operation, did, key, artist, tags, fields, records[at : at + length])
            yield Change(position, op, entry)
        at += length


def list_segments(folder: Path) -> list[Segment]:
    """The segments of a log, the oldest first."""
    names = (path for path in folder.glob("*.log") if path.stem.isdigit())
    return sorted(Segment(int(path.stem), path) for path in names)


def segment_path(folder: Path, after: int) -> Path:
    """The path of the segment with the changes after a position."""
    return folder / f"{after:0{_NAME_DIGITS}}.log"
