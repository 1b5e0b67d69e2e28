"""Frames, as a source yields them, and events, as decoders make of frames. Values only."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from schemas.ids import Did, Handle, Nsid, Tid

Action = Literal["create", "update", "delete"]


# Frame and Passed are made for every message of the network: a NamedTuple costs a third of a dataclass.
class Frame(NamedTuple):
    """One message as it was received. `source` names the sequence space of its sequence number.

    `passed`: the number of messages received just before it that the prefilter dropped.
    """

    source: str
    raw: bytes
    received_at: datetime
    passed: int = 0


@dataclass(frozen=True, slots=True)
class Operation:
    """One record created, updated or deleted. `prev`: CID of the version before, if the commit has it."""

    action: Action
    path: str
    cid: bytes | None
    prev: bytes | None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit on our collections or of a tracked account, with all that its verification needs.

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
    """A commit's operations on our collections, as a Jetstream reports them. Every block matches its CID."""

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
    """A hint, not to be trusted, that the account's DID document or handle may have changed."""

    seq: int
    did: Did
    time: datetime


@dataclass(frozen=True, slots=True)
class Sync:
    """A repo was set to a new state without a diff. `blocks` hold the commit object; its CID is `cid`."""

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
    """A well-formed message about other collections and accounts. `unknown`: its type, if that is new."""

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

# Decodes a source's frame: raw bytes, our collections, the tracked accounts, the time it was received.
Decode = Callable[[bytes, frozenset[Nsid], Container[Did], datetime], tuple[Event, ...]]


@dataclass(frozen=True, slots=True)
class IdentityFact:
    """The result of resolving a DID: a handle verified in both directions or `handle.invalid`, and the PDS.

    `handle` is None when it could not be checked: the stored one stays, and the DID is resolved again later.
    """

    did: Did
    handle: Handle | None
    pds: str | None
    signing_key: str | None = None
    space_host: str | None = None
    space_key: str | None = None
    labeler: str | None = None
    label_key: str | None = None
