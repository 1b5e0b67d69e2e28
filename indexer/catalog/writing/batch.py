"""Batch: everything that one transaction writes, and Written: its results. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from indexer.catalog.tables.cursors import ListProgress, StreamCursor
from indexer.catalog.tables.dead_letters import DeadLetter
from indexer.catalog.tables.images import ImageFact, Picture
from indexer.catalog.tables.labels import Statement
from indexer.catalog.tables.waiting_commits import WaitingCommit
from indexer.events import Account, IdentityFact
from indexer.repo.changes import RecordChange, RepoHead
from indexer.repo.extract import Fetched
from indexer.repo.signing_keys import Key
from schemas.ids import Did
from schemas.labels import Label


@dataclass(frozen=True, slots=True)
class ResyncResult:
    """The result of a resync: apply the fetched records, if any, and then the waiting commits.

    `key`: the account's signing key. `again`: events arrived after the fetch began, which it may have missed.
    `loose`: the repo cannot be fetched for long; apply waiting commits that are verified by themselves,
    though other records may be missing.
    """

    did: Did
    key: Key
    fetched: Fetched | None = None
    again: bool = False
    loose: bool = False


@dataclass(slots=True)
class Batch:
    """Collected by the pipeline, written in one transaction. `cursors` maps a source to its low-water mark.

    `settled`: dead letters to remove, before others are added. `plays`: play counts by the key of the track.
    `recount`: keys of tracks with wrong counts of likes and comments. `sweep`: remove child rows that belong
    to no record. `takedowns`: all subjects that are taken down from now on; None: as before. `statements`:
    all that a source of labels says of accounts. `expire`: labels have expired.
    """

    changes: list[RecordChange] = field(default_factory=list)
    accounts: list[Account] = field(default_factory=list)
    refusals: dict[Did, str] = field(default_factory=dict)
    stale: set[Did] = field(default_factory=set)
    identities: list[IdentityFact] = field(default_factory=list)
    images: list[ImageFact] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    settled: list[DeadLetter] = field(default_factory=list)
    repos: dict[Did, RepoHead] = field(default_factory=dict)
    waiting: list[WaitingCommit] = field(default_factory=list)
    resyncs: list[ResyncResult] = field(default_factory=list)
    again: set[Did] = field(default_factory=set)
    listings: list[ListProgress] = field(default_factory=list)
    plays: dict[int, int] = field(default_factory=dict)
    recount: set[int] = field(default_factory=set)
    sweep: bool = False
    takedowns: frozenset[str] | None = None
    labels: list[Label] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    expire: bool = False
    cursors: dict[str, StreamCursor] = field(default_factory=dict)

    def __len__(self) -> int:
        """The number of things to store; cursors do not count."""
        return (
            len(self.changes)
            + sum(1 + len(resync.fetched.records) if resync.fetched else 1 for resync in self.resyncs)
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
            + (self.takedowns is not None)
            + len(self.labels)
            + sum(1 + len(statement.labels) for statement in self.statements)
            + self.expire
        )


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The results of a transaction. `unresolved`: accounts with identities to be resolved.

    `unmeasured`: images without a stored size. `resynced`: the heads of the resynced repos.
    `doubtful`: accounts that came back or moved, so that we may have missed commits.
    `removed`: accounts that were removed with their records. `position`: of the last change in the change
    log; `frame`: the changes of this transaction, as the log has them.
    """

    rows: int
    skipped: int
    invalid: int
    dead_letters: int
    op: int
    unresolved: tuple[Did, ...]
    unmeasured: tuple[Picture, ...]
    resynced: Mapping[Did, RepoHead] = field(default_factory=dict)
    doubtful: tuple[Did, ...] = ()
    removed: tuple[Did, ...] = ()
    position: int = 0
    frame: bytes = field(default=b"", repr=False)
