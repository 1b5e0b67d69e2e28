"""The protocol's identifiers, and the ids we derive from them.

Syntax rules: https://atproto.com/specs/did, /handle, /nsid, /at-uri-scheme, /tid, /record-key, /cid.
Ids are derived, never counted, so every node that has seen the same records answers with the same ids.
"""

import base64
import functools
import hashlib
import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NewType

from schemas.normal_form import normalise

Did = NewType("Did", str)
Handle = NewType("Handle", str)
Nsid = NewType("Nsid", str)
Cid = NewType("Cid", str)
Tid = NewType("Tid", str)
Rkey = NewType("Rkey", str)

INVALID_HANDLE = Handle("handle.invalid")
ID_BITS = 53  # the largest integers that JSON readers keep exact
CHECK_BITS = 40  # that follow them where an address must not be taken over

_DID = re.compile(r"did:[a-z]+:[a-zA-Z0-9._:%-]*[a-zA-Z0-9._-]")
_HANDLE = re.compile(
    r"([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
)
_NSID = re.compile(
    r"[a-zA-Z]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+"
    r"\.[a-zA-Z][a-zA-Z0-9]{0,62}"
)
_TID = re.compile(r"[234567abcdefghij][234567abcdefghijklmnopqrstuvwxyz]{12}")
_RKEY = re.compile(r"[a-zA-Z0-9_~.:-]{1,512}")
_CID = re.compile(r"b[a-z2-7]{58}")
_CID_TEXT = re.compile(r"[a-zA-Z0-9+=]{8,256}")  # https://atproto.com/specs/data-model, as servers read it
_CHECKED_ID = re.compile(r"([0-9]{1,16})-([a-z2-7]{8})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TID_ALPHABET = "234567abcdefghijklmnopqrstuvwxyz"
_TID_TO_BASE32 = str.maketrans(_TID_ALPHABET, "0123456789abcdefghijklmnopqrstuv")


def is_did(text: str) -> bool:
    """True for a syntactically valid DID of at most 2 KB."""
    return len(text) <= 2048 and _DID.fullmatch(text) is not None


def is_handle(text: str) -> bool:
    """True for a syntactically valid handle of at most 253 characters."""
    return len(text) <= 253 and _HANDLE.fullmatch(text) is not None


def is_nsid(text: str) -> bool:
    """True for a syntactically valid NSID of at most 317 characters."""
    return len(text) <= 317 and _has_nsid_syntax(text)


@functools.lru_cache(1024)  # the network has few collections and names them in every message
def _has_nsid_syntax(text: str) -> bool:
    return _NSID.fullmatch(text) is not None


def is_tid(text: str) -> bool:
    """True for a 13-character base32-sortable timestamp id."""
    return _TID.fullmatch(text) is not None


def is_rkey(text: str) -> bool:
    """True for a valid record key: 1 to 512 of the allowed characters, neither `.` nor `..`."""
    return _RKEY.fullmatch(text) is not None and text not in (".", "..")


def is_cid(text: str) -> bool:
    """True for a CIDv1 with a SHA-256 hash in base32, the only form that atproto writes."""
    return _CID.fullmatch(text) is not None


def is_cid_text(text: str) -> bool:
    """True for any CID as text but those of version 0: records may name others' records in any base."""
    return _CID_TEXT.fullmatch(text) is not None and not text.startswith("Qmb")


def is_at_uri(text: str) -> bool:
    """True for any at-uri, of an account, a collection or a record, by DID or by handle."""
    authority, *path = text.removeprefix("at://").split("/")
    return (
        text.startswith("at://")
        and len(path) <= 2
        and (is_did(authority) or is_handle(authority))
        and (not path or is_nsid(path[0]))
        and (len(path) < 2 or is_rkey(path[1]))
    )


@dataclass(frozen=True, slots=True)
class AtUri:
    """The address of one record: `at://{did}/{collection}/{rkey}`."""

    did: Did
    collection: Nsid
    rkey: Rkey

    def __str__(self) -> str:
        return f"at://{self.did}/{self.collection}/{self.rkey}"

    @classmethod
    def parse(cls, text: str) -> "AtUri":
        """Read a record's at-uri. Raises ValueError when any part is missing or malformed."""
        scheme, _, path = text.partition("://")
        parts = path.split("/")
        if scheme != "at" or len(parts) != 3:
            raise ValueError("not the at-uri of a record")
        did, collection, rkey = parts
        if not (is_did(did) and is_nsid(collection) and is_rkey(rkey)):
            raise ValueError("the at-uri has a malformed part")
        return cls(Did(did), Nsid(collection), Rkey(rkey))


def record_key(uri: str) -> int:
    """The signed 64-bit number that tables join on: the first 64 bits of SHA-256 of the at-uri."""
    return int.from_bytes(hashlib.sha256(uri.encode()).digest()[:8], "big", signed=True)


def record_id(name: str, attempt: int = 0) -> int:
    """The public 53-bit id of a track, comment or tag.

    `attempt` counts the collisions met so far: each tries the name with `#1`, `#2` … added. The first id is
    what the `record_key` begins with.
    """
    text = name if attempt == 0 else f"{name}#{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - ID_BITS)


def checked_id(uri: str) -> str:
    """What addresses of pages and players call a track: its 53-bit id at the first attempt, and 40 more bits.

    The first 93 bits of SHA-256 of the at-uri, as `{decimal}-{eight characters of base32}`: the same on every
    node, whatever collisions are known, and infeasible to collide with on purpose.
    """
    digest = hashlib.sha256(uri.encode()).digest()
    bits = int.from_bytes(digest[:12], "big") >> (96 - ID_BITS - CHECK_BITS)
    check = (bits & ((1 << CHECK_BITS) - 1)).to_bytes(CHECK_BITS // 8, "big")
    return f"{bits >> CHECK_BITS}-{base64.b32encode(check).decode().lower()}"


def checked_key(name: str) -> int | None:
    """The `record_key` in what looks like a `checked_id`; the rest of it is still to be compared."""
    found = _CHECKED_ID.fullmatch(name)
    if found is None or int(found[1]) >= 1 << ID_BITS:
        return None
    check = int.from_bytes(base64.b32decode(found[2].upper()), "big")
    key = int(found[1]) << (64 - ID_BITS) | check >> (CHECK_BITS - 64 + ID_BITS)
    return key - (1 << 64) if key >> 63 else key


def list_id(uri: str) -> uuid.UUID:
    """The public id of an album or playlist: UUIDv5 of the list record's at-uri."""
    return uuid.uuid5(uuid.NAMESPACE_URL, uri)


def normalise_tag(name: str) -> str:
    """One spelling for a tag: NFKC, case folded, inner space collapsed, no leading `#`. May be empty."""
    folded = normalise("NFKC", name.replace("\0", "")).casefold()
    # Folding can undo the normal form of stacked accents.
    return " ".join(normalise("NFKC", folded).split()).lstrip("# ")


def tid_time(tid: str) -> datetime:
    """The UTC instant that a TID (a record key or a rev) claims. Raises ValueError when it is not a TID."""
    if not is_tid(tid):
        raise ValueError("not a TID")
    return _EPOCH + (int(tid.translate(_TID_TO_BASE32), 32) >> 10) * _MICROSECOND


def tid_at(instant: datetime, clock_id: int = 0) -> Tid:
    """The TID of an instant, the nearest that a TID can name when it lies before 1970 or after 2255."""
    microseconds = min(max((instant - _EPOCH) // _MICROSECOND, 0), 2**53 - 1)
    return _tid(microseconds << 10 | clock_id & 0x3FF)


def _tid(value: int) -> Tid:
    return Tid("".join(_TID_ALPHABET[value >> shift & 31] for shift in range(60, -1, -5)))


def derived_tid(name: str) -> Tid:
    """The TID derived from a name: writing under it twice writes one record.

    Its timestamp is after the year 2112, later than any commit, so it is never taken for a creation time.
    """
    digest = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    return _tid(1 << 62 | digest >> 2)
