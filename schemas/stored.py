"""What the index stores of one document, as one run of bytes: packed by the indexer, unpacked by readers."""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

_LINES = 8


class Stored(NamedTuple):
    """All of it, as bytes; what a document has not is empty.

    `card` is ready-made JSON: complete, but for the closing brace of a track and of a search result. `proof`
    tells how a track's record was verified: JSON as it is sent. `access` is a track's listening, downloads
    and visibility, `thumb` its picture's size, `items` the keys of a list's tracks. `digest` changes with
    any of it.
    """

    digest: bytes
    doc: bytes
    did: bytes
    access: bytes
    thumb: bytes
    items: bytes
    proof: bytes
    card: bytes


NAMES = Stored._fields[3:]  # what is stored, and not to be searched


def pack(fields: Mapping[str, Any]) -> bytes:
    """The bytes for a document's fields. Raises ValueError for a line break, which JSON never holds."""
    texts = (fields["doc"].encode(), fields.get("did", "").encode())
    lines = b"\n".join([*texts, *(fields.get(name, b"") for name in NAMES)])
    if lines.count(b"\n") != _LINES - 2:
        raise ValueError(f"a line break in what is stored of {fields['doc']!r}")
    return hashlib.blake2b(lines, digest_size=8).hexdigest().encode() + b"\n" + lines


def unpack(packed: bytes) -> Stored:
    """What was packed."""
    return Stored._make(packed.split(b"\n", _LINES - 1))
