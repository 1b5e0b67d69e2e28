"""What a source yields, and what it means once decoded. Values only."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from schemas.ids import Cid, Did, Nsid, Rkey, Tid

Action = Literal["create", "update", "delete"]


# Frame and Passed are made for every message of the network: a NamedTuple costs a third of a dataclass.
class Frame(NamedTuple):
    """One message as it came: `source` names the sequence space that its numbers belong to."""

    source: str
    raw: bytes
    received_at: datetime


@dataclass(frozen=True, slots=True)
class Operation:
    """One record of ours created, updated or deleted. `block` holds its DAG-CBOR, absent for a delete."""

    action: Action
    collection: Nsid
    rkey: Rkey
    cid: Cid | None
    block: bytes | None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that touches our collections; `operations` are only those."""

    seq: int
    did: Did
    rev: Tid
    time: datetime
    operations: tuple[Operation, ...]


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
    """The repo's state was set anew without a diff."""

    seq: int
    did: Did
    rev: Tid
    time: datetime


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
    """A message, or one record of a commit, that cannot be used: kept as a dead letter with its bytes."""

    seq: int | None
    did: str | None
    reason: str
    raw: bytes


Event = Commit | Account | Identity | Sync | Info | StreamError | Passed | Malformed
