"""Applies resyncs in a transaction: compares fetched records with stored ones, replays waiting commits."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from indexer.catalog import projections
from indexer.catalog.database import LISTED, Database, join_words
from indexer.catalog.tables.dead_letters import DeadLetter
from indexer.catalog.tables.waiting_commits import Waiting, WaitingCommit
from indexer.catalog.writing.batch import ResyncResult
from indexer.events import Commit, Frame
from indexer.repo import chain
from indexer.repo.changes import RecordChange, RepoHead
from indexer.repo.extract import Fetched
from indexer.stream import dialects
from indexer.stream.decode import decode_frame
from schemas.collections import Collections
from schemas.ids import Cid, Did, Nsid, Rkey

UNKNOWN: Final = RepoHead("pending", fetch=True)
WENT_BACK: Final = "its server shows an older state"


class _Stored(NamedTuple):
    """A stored version of a record, not a tombstone."""

    rev: str
    cid: Cid | None
    verified: str


@dataclass(slots=True)
class Applied:
    """The changes to apply, the head of each repo afterwards, and dead letters of unusable commits."""

    changes: list[RecordChange] = field(default_factory=list)
    marks: dict[Did, RepoHead] = field(default_factory=dict)
    letters: list[DeadLetter] = field(default_factory=list)


class ResyncApplier:
    """Runs on the writer's thread: no other code changes a repo meanwhile."""

    def __init__(self, catalogue: Database, waiting: Waiting, collections: Collections) -> None:
        self._catalogue = catalogue
        self._waiting = waiting
        self._collections = collections
        self._ours = projections.indexed_nsids(collections)

    def apply(self, resyncs: Sequence[ResyncResult]) -> Applied:
        """Call after the rest of the batch is stored, as fetched records are compared with the tables."""
        resynced = Applied()
        if not resyncs:
            return resynced
        latest = {resync.did: resync for resync in resyncs}
        known = self._marks(latest)
        stored = self._stored([did for did, resync in latest.items() if resync.fetched])
        waiting = self._waiting.take(latest.keys())
        left: list[WaitingCommit] = []
        for did, resync in latest.items():
            mark = known.get(did, UNKNOWN)
            if resync.fetched is not None:
                if resync.fetched.rev < (mark.rev or ""):
                    # A backup or a lagging copy: our state is newer and verified too. The PDS will catch up.
                    resynced.marks[did] = RepoHead("desynchronized", mark.rev, mark.data, True, WENT_BACK)
                    left += waiting.get(did, ())
                    continue
                resynced.changes += compare_records(resync.fetched, stored.get(did, {}))
                mark = RepoHead("active", resync.fetched.rev, resync.fetched.data)
            resynced.marks[did], kept = self._replay(resync, mark, waiting.get(did, ()), resynced)
            left += kept
        self._waiting.add(left)
        return resynced

    def _replay(
        self, resync: ResyncResult, mark: RepoHead, waiting: Sequence[WaitingCommit], resynced: Applied
    ) -> tuple[RepoHead, list[WaitingCommit]]:
        """Replay the waiting commits. Returns the repo's head, and the commits that still wait."""
        came = {letter.raw: letter for letter in waiting}
        commits = filter(None, map(self._commit, waiting))
        replayed = chain.replay_commits(mark, commits, resync.key, self._ours, loose=resync.loose)
        resynced.changes += replayed.changes
        resynced.letters += [_dead_letter(came[commit.raw], why) for commit, why in replayed.refused]
        after = replayed.mark
        if resync.loose:
            return RepoHead("error", fetch=True, reason="cannot be fetched"), []
        if resync.again:
            after = RepoHead("desynchronized", after.rev, after.data, True, "more came meanwhile")
        elif replayed.left:
            why = WENT_BACK if resync.fetched else "commits are missing"
            after = RepoHead("desynchronized", after.rev, after.data, True, why)
        elif replayed.refused:
            after = RepoHead("desynchronized", after.rev, after.data, True, "a commit was refused")
        elif after.rev is None:
            after = UNKNOWN
        else:
            after = RepoHead("active", after.rev, after.data)
        return after, [came[commit.raw] for commit in replayed.left]

    def _commit(self, waiting: WaitingCommit) -> Commit | None:
        frame = Frame(waiting.source, waiting.raw, waiting.received_at)
        for event in dialects.decode_safely(decode_frame, frame, self._ours, {waiting.did}):
            if isinstance(event, Commit):
                return event
        return None

    def _marks(self, dids: Collection[Did]) -> dict[Did, RepoHead]:
        rows = self._catalogue.rows(
            f"select did, state, rev, data from repos where did in {LISTED}", [join_words(dids)]
        )
        return {did: RepoHead(state, rev, data) for did, state, rev, data in rows}

    def _stored(self, dids: Collection[Did]) -> dict[Did, dict[tuple[Nsid, Rkey], _Stored]]:
        found: dict[Did, dict[tuple[Nsid, Rkey], _Stored]] = {}
        if not dids:
            return found
        for collection, projection in projections.projections_of(self._collections).items():
            rows = self._catalogue.rows(
                f"select did, rkey, rev, cid, verified from {projection.table} "
                f"where state != 'deleted' and did in {LISTED}",
                [join_words(dids)],
            )
            for did, rkey, rev, cid, verified in rows:
                found.setdefault(did, {})[collection, rkey] = _Stored(rev, cid, verified)
        return found


def compare_records(fetched: Fetched, stored: Mapping[tuple[Nsid, Rkey], _Stored]) -> Iterator[RecordChange]:
    """The changes that turn the stored records into the fetched ones, all at the fetched rev."""
    did, rev = fetched.did, fetched.rev
    for (collection, rkey), (cid, block) in fetched.records.items():
        known = stored.get((collection, rkey))
        if known is None or known.cid != cid or known.verified == "unverified":
            yield RecordChange(did, collection, rkey, rev, "update", cid, block, "repo")
    for collection, rkey in stored.keys() - fetched.records.keys():
        yield RecordChange(did, collection, rkey, rev, "delete", None, None, "repo")


def _dead_letter(commit: WaitingCommit, reason: str) -> DeadLetter:
    return DeadLetter(commit.received_at, commit.source, commit.seq, commit.did, reason, commit.raw)
