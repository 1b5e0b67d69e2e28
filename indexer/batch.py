"""What one transaction is asked to hold. Values only; the newest version of a record is all that counts."""

from dataclasses import dataclass, field
from datetime import datetime

from indexer.events import Account, Action
from schemas.ids import AtUri, Cid, Did, Nsid, Rkey, Tid


@dataclass(frozen=True, slots=True)
class RecordChange:
    """One record of ours created, updated or deleted by the commit `rev`."""

    did: Did
    collection: Nsid
    rkey: Rkey
    rev: Tid
    action: Action
    cid: Cid | None
    block: bytes | None
    uri: AtUri = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "uri", AtUri(self.did, self.collection, self.rkey))


@dataclass(frozen=True, slots=True)
class IdentityFact:
    """What resolving an account found: a handle that holds both ways or `handle.invalid`, and its server.

    No handle: it could not be checked this time. The known one stays, and the identity wants resolving still.
    """

    did: Did
    handle: str | None
    pds: str | None


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that a record of `did` shows."""

    did: Did
    cid: str


@dataclass(frozen=True, slots=True)
class ImageFact:
    """The true size of an image; 0 × 0 for bytes that are none."""

    cid: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Input that could not be used, as it came."""

    received_at: datetime
    source: str
    seq: int | None
    did: str | None
    reason: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Mark:
    """Everything up to `seq` of a source's sequence space is finished."""

    seq: int
    event_time: datetime | None


@dataclass(slots=True)
class Batch:
    """Collected by the pipeline, written at once. `cursors` maps a source to its low-water mark."""

    changes: list[RecordChange] = field(default_factory=list)
    accounts: list[Account] = field(default_factory=list)
    stale: set[Did] = field(default_factory=set)
    identities: list[IdentityFact] = field(default_factory=list)
    images: list[ImageFact] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    cursors: dict[str, Mark] = field(default_factory=dict)

    def __len__(self) -> int:
        """Things to store; a cursor alone counts for nothing."""
        return (
            len(self.changes)
            + len(self.accounts)
            + len(self.stale)
            + len(self.identities)
            + len(self.images)
            + len(self.dead_letters)
        )


def newest(changes: list[RecordChange]) -> list[RecordChange]:
    """The change with the highest rev for each record, in order of arrival."""
    found: dict[tuple[Did, Nsid, Rkey], RecordChange] = {}
    for change in changes:
        known = found.setdefault((change.did, change.collection, change.rkey), change)
        if change.rev > known.rev:
            found[change.did, change.collection, change.rkey] = change
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Written:
    """What a transaction did. `unresolved`: accounts whose identity it found to want resolving.

    `unmeasured`: pictures of which it found no size.
    """

    rows: int
    skipped: int
    invalid: int
    dead_letters: int
    op: int
    unresolved: tuple[Did, ...]
    unmeasured: tuple[Picture, ...]
