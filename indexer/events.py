"""What a source yields, and what it means once decoded. Values only."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from schemas.ids import Did, Nsid, Tid

Action = Literal["create", "update", "delete"]


# Frame and Passed are made for every message of the network: a NamedTuple costs a third of a dataclass.
class Frame(NamedTuple):
    """One message as it came: `source` names the sequence space that its numbers belong to.

    `passed`: how many came with it that needed no decoding, and were let go.
    """

    source: str
    raw: bytes
    received_at: datetime
    passed: int = 0


@dataclass(frozen=True, slots=True)
class Operation:
    """One record created, updated or deleted. `prev`: the version before, where the commit names it."""

    action: Action
    path: str
    cid: bytes | None
    prev: bytes | None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit on our collections or of an account of ours, with all that it takes to verify it.

    `operations` are those on every collection. `cid` is that of the commit object, `prev_data` that of the
    tree before. Every block matches its CID.
    """

    seq: int
    did: Did
    rev: Tid
    since: Tid | None
    time: datetime
    cid: bytes
    prev_data: bytes | None
    operations: tuple[Operation, ...]
    blocks: Mapping[bytes, bytes]
    raw: bytes


@dataclass(frozen=True, slots=True)
class Unverified:
    """What a commit did to our collections, on a host's word. Every block matches its CID."""

    seq: int
    did: Did
    rev: Tid
    time: datetime
    operations: tuple[Operation, ...]
    blocks: Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Account:
    """An account's hosting status. `status` is `active` or the reason why it is not."""

    seq: int
    did: Did
    time: datetime
    status: str


@dataclass(frozen=True, slots=True)
class Identity:
    """A hint that the account's DID document or handle may have changed; carries no trust."""

    seq: int
    did: Did
    time: datetime


@dataclass(frozen=True, slots=True)
class Sync:
    """The repo's state was set anew without a diff. `blocks` hold the commit object, whose CID is `cid`."""

    seq: int
    did: Did
    rev: Tid
    time: datetime
    cid: bytes
    blocks: Mapping[bytes, bytes]
    raw: bytes


@dataclass(frozen=True, slots=True)
class Info:
    """A note from the server about the stream, such as OutdatedCursor. Has no sequence number."""

    name: str
    message: str


@dataclass(frozen=True, slots=True)
class StreamError:
    """An error frame: the server ends the stream after it, for instance with FutureCursor."""

    name: str
    message: str


class Passed(NamedTuple):
    """A well-formed message that does not concern us. `unknown` names its type when we do not know it."""

    seq: int | None
    time: datetime | None
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """A message that cannot be used: kept as a dead letter with its bytes."""

    seq: int | None
    did: str | None
    reason: str
    raw: bytes


Event = Commit | Unverified | Account | Identity | Sync | Info | StreamError | Passed | Malformed

# How a source's frames are understood: raw bytes, collections of ours, accounts of ours, when it came.
Decode = Callable[[bytes, frozenset[Nsid], Container[Did], datetime], tuple[Event, ...]]
