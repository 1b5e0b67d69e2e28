"""What one transaction is asked to hold. Values only; the newest version of a record is all that counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from indexer.events import Account, Action
from indexer.keys import Key
from schemas.ids import AtUri, Cid, Did, Handle, Nsid, Rkey, Tid

Verified = Literal["commit", "repo", "proof", "unverified"]
State = Literal["pending", "resyncing", "active", "desynchronized", "error"]


@dataclass(frozen=True, slots=True)
class RecordChange:
    """One record of ours created, updated or deleted by the commit `rev`, and how we know."""

    did: Did
    collection: Nsid
    rkey: Rkey
    rev: Tid
    action: Action
    cid: Cid | None
    block: bytes | None
    verified: Verified = "unverified"
    uri: AtUri = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "uri", AtUri(self.did, self.collection, self.rkey))

    def beats(self, rev: str, verified: str) -> bool:
        """Is this to replace a version with that rev? Equal revs are the same commit again, better known.

        A whole repo shows what a host's mere word was worth, whatever rev that claimed.
        """
        if verified == "unverified" and (self.verified == "repo" or self.rev == rev):
            return self.verified != "unverified"
        return self.rev > rev


@dataclass(frozen=True, slots=True)
class IdentityFact:
    """What resolving an account found: a handle that holds both ways or `handle.invalid`, and its server.

    No handle: it could not be checked this time. The known one stays, and the identity wants resolving still.
    """

    did: Did
    handle: Handle | None
    pds: str | None
    signing_key: str | None = None
    space_host: str | None = None
    space_key: str | None = None


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
class RepoMark:
    """How far a repo is known: its newest commit that is applied, and the CID of that commit's tree.

    `fetch`: only fetching all of it can put it in step. `reason`: why it is not active.
    """

    state: State
    rev: Tid | None = None
    data: bytes | None = None
    fetch: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class WaitingCommit:
    """The frame of a commit that cannot be applied yet, because its repo is not in step."""

    did: Did
    rev: Tid
    received_at: datetime
    source: str
    seq: int | None
    raw: bytes


@dataclass(frozen=True, slots=True)
class Fetched:
    """All records of ours in a whole repo, as of its commit `rev`: proven, and complete.

    `records`: CID as text and block, by collection and rkey.
    """

    did: Did
    rev: Tid
    data: bytes
    records: Mapping[tuple[Nsid, Rkey], tuple[Cid, bytes]]


@dataclass(frozen=True, slots=True)
class Listing:
    """How far one list of one host is read: after `cursor`, or to its end at `finished_at`."""

    source: str
    collection: str
    cursor: str | None = None
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Mend:
    """Bring a repo in step: take over what was fetched, if anything, and then the commits that wait.

    `key`: the account's signing key. `again`: something came after the fetch began, which it may not have
    seen. `loose`: the repo cannot be fetched for long; take what is proven by
    itself from the commits that wait, though records that they do not touch may be missing.
    """

    did: Did
    key: Key
    fetched: Fetched | None = None
    again: bool = False
    loose: bool = False


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Input that could not be used, as it came."""

    received_at: datetime
    source: str
    seq: int | None
    did: str | None
    reason: str
    raw: bytes


class Mark(NamedTuple):  # made for every message of the network
    """Everything up to `seq` of a source's sequence space is finished."""

    seq: int
    event_time: datetime | None


@dataclass(slots=True)
class Batch:
    """Collected by the pipeline, written at once. `cursors` maps a source to its low-water mark.

    `settled` are dead letters that are taken out, before others are put in. `plays` are tracks by key, and
    how often each was played so far. `recount`: tracks by key, whose likes and comments were found
    miscounted. `sweep`: rows were found that belong to no record; they go.
    """

    changes: list[RecordChange] = field(default_factory=list)
    accounts: list[Account] = field(default_factory=list)
    refusals: dict[Did, str] = field(default_factory=dict)
    stale: set[Did] = field(default_factory=set)
    identities: list[IdentityFact] = field(default_factory=list)
    images: list[ImageFact] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    settled: list[DeadLetter] = field(default_factory=list)
    repos: dict[Did, RepoMark] = field(default_factory=dict)
    waiting: list[WaitingCommit] = field(default_factory=list)
    mends: list[Mend] = field(default_factory=list)
    again: set[Did] = field(default_factory=set)
    listings: list[Listing] = field(default_factory=list)
    plays: dict[int, int] = field(default_factory=dict)
    recount: set[int] = field(default_factory=set)
    sweep: bool = False
    cursors: dict[str, Mark] = field(default_factory=dict)

    def __len__(self) -> int:
        """Things to store; a cursor alone counts for nothing."""
        return (
            len(self.changes)
            + sum(1 + len(mend.fetched.records) if mend.fetched else 1 for mend in self.mends)
            + len(self.waiting)
            + len(self.accounts)
            + len(self.refusals)
            + len(self.stale)
            + len(self.identities)
            + len(self.images)
            + len(self.dead_letters)
            + len(self.settled)
            + len(self.plays)
            + len(self.recount)
            + self.sweep
        )


def newest(changes: list[RecordChange]) -> list[RecordChange]:
    """The change with the highest rev for each record, in order of arrival; of equal ones a verified one."""
    found: dict[tuple[Did, Nsid, Rkey], RecordChange] = {}
    for change in changes:
        known = found.setdefault((change.did, change.collection, change.rkey), change)
        if change.beats(known.rev, known.verified):
            found[change.did, change.collection, change.rkey] = change
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Written:
    """What a transaction did. `unresolved`: accounts whose identity it found to want resolving.

    `unmeasured`: pictures of which it found no size. `mended`: where the repos of its mends stand now.
    `doubtful`: accounts that came back or moved, so that commits of theirs may have passed us by.
    `removed`: accounts whose records went with them.
    """

    rows: int
    skipped: int
    invalid: int
    dead_letters: int
    op: int
    unresolved: tuple[Did, ...]
    unmeasured: tuple[Picture, ...]
    mended: Mapping[Did, RepoMark] = field(default_factory=dict)
    doubtful: tuple[Did, ...] = ()
    removed: tuple[Did, ...] = ()
