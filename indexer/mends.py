"""Repos brought in step, inside one transaction: what was fetched is compared with what is stored, then the
commits that waited are replayed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from indexer import chain, dialects, projections
from indexer.batch import DeadLetter, Fetched, Mend, RecordChange, RepoMark, WaitingCommit
from indexer.catalogue import LISTED, Catalogue, listed
from indexer.decode import decode
from indexer.events import Commit, Frame
from indexer.waiting import Waiting
from schemas.collections import Collections
from schemas.ids import Cid, Did, Nsid, Rkey

UNKNOWN: Final = RepoMark("pending", fetch=True)
WENT_BACK: Final = "its server shows an older state"


class _Stored(NamedTuple):
    """A version that is stored and not a tombstone."""

    rev: str
    cid: Cid | None
    verified: str


@dataclass(slots=True)
class Mended:
    """What mends come to: changes to apply, where each repo stands then, and what could not be used."""

    changes: list[RecordChange] = field(default_factory=list)
    marks: dict[Did, RepoMark] = field(default_factory=dict)
    letters: list[DeadLetter] = field(default_factory=list)


class Mends:
    """Works on the writer's thread: nothing else changes a repo meanwhile."""

    def __init__(self, catalogue: Catalogue, waiting: Waiting, collections: Collections) -> None:
        self._catalogue = catalogue
        self._waiting = waiting
        self._collections = collections

    def apply(self, mends: Sequence[Mend]) -> Mended:
        """To be called when all else in the batch is stored already: that is what is compared with."""
        mended = Mended()
        if not mends:
            return mended
        latest = {mend.did: mend for mend in mends}
        known = self._marks(latest)
        stored = self._stored([did for did, mend in latest.items() if mend.fetched])
        waiting = self._waiting.take(latest.keys())
        left: list[WaitingCommit] = []
        for did, mend in latest.items():
            mark = known.get(did, UNKNOWN)
            if mend.fetched is not None:
                if mend.fetched.rev < (mark.rev or ""):
                    # A backup or a lagging copy: what we have is newer and proven too. It will catch up.
                    mended.marks[did] = RepoMark("desynchronized", mark.rev, mark.data, True, WENT_BACK)
                    left += waiting.get(did, ())
                    continue
                mended.changes += differences(mend.fetched, stored.get(did, {}))
                mark = RepoMark("active", mend.fetched.rev, mend.fetched.data)
            mended.marks[did], kept = self._replay(mend, mark, waiting.get(did, ()), mended)
            left += kept
        self._waiting.add(left)
        return mended

    def _replay(
        self, mend: Mend, mark: RepoMark, waiting: Sequence[WaitingCommit], mended: Mended
    ) -> tuple[RepoMark, list[WaitingCommit]]:
        """Where the repo stands afterwards, and what goes on waiting."""
        came = {letter.raw: letter for letter in waiting}
        commits = filter(None, map(self._commit, waiting))
        ours = self._collections.all
        replayed = chain.replay(mark, commits, mend.key, ours, loose=mend.loose)
        mended.changes += replayed.changes
        mended.letters += [_dead_letter(came[commit.raw], why) for commit, why in replayed.refused]
        after = replayed.mark
        if mend.loose:
            return RepoMark("error", fetch=True, reason="cannot be fetched"), []
        if mend.again:
            after = RepoMark("desynchronized", after.rev, after.data, True, "more came meanwhile")
        elif replayed.left:
            why = WENT_BACK if mend.fetched else "commits are missing"
            after = RepoMark("desynchronized", after.rev, after.data, True, why)
        elif replayed.refused:
            after = RepoMark("desynchronized", after.rev, after.data, True, "a commit was refused")
        elif after.rev is None:
            after = UNKNOWN
        else:
            after = RepoMark("active", after.rev, after.data)
        return after, [came[commit.raw] for commit in replayed.left]

    def _commit(self, waiting: WaitingCommit) -> Commit | None:
        frame = Frame(waiting.source, waiting.raw, waiting.received_at)
        for event in dialects.understood(decode, frame, self._collections.all, {waiting.did}):
            if isinstance(event, Commit):
                return event
        return None

    def _marks(self, dids: Collection[Did]) -> dict[Did, RepoMark]:
        rows = self._catalogue.rows(
            f"select did, state, rev, data from repos where did in {LISTED}", [listed(dids)]
        )
        return {did: RepoMark(state, rev, data) for did, state, rev, data in rows}

    def _stored(self, dids: Collection[Did]) -> dict[Did, dict[tuple[Nsid, Rkey], _Stored]]:
        found: dict[Did, dict[tuple[Nsid, Rkey], _Stored]] = {}
        if not dids:
            return found
        for collection, projection in projections.of(self._collections).items():
            rows = self._catalogue.rows(
                f"select did, rkey, rev, cid, verified from {projection.table} "
                f"where state != 'deleted' and did in {LISTED}",
                [listed(dids)],
            )
            for did, rkey, rev, cid, verified in rows:
                found.setdefault(did, {})[collection, rkey] = _Stored(rev, cid, verified)
        return found


def differences(fetched: Fetched, stored: Mapping[tuple[Nsid, Rkey], _Stored]) -> Iterator[RecordChange]:
    """What makes the stored records those of the repo: creates, updates, deletes, all at its rev."""
    did, rev = fetched.did, fetched.rev
    for (collection, rkey), (cid, block) in fetched.records.items():
        known = stored.get((collection, rkey))
        if known is None or known.cid != cid or known.verified == "unverified":
            yield RecordChange(did, collection, rkey, rev, "update", cid, block, "repo")
    for collection, rkey in stored.keys() - fetched.records.keys():
        yield RecordChange(did, collection, rkey, rev, "delete", None, None, "repo")


def _dead_letter(commit: WaitingCommit, reason: str) -> DeadLetter:
    return DeadLetter(commit.received_at, commit.source, commit.seq, commit.did, reason, commit.raw)
