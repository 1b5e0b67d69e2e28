"""Applies each event to its repo by the table of states: apply it, keep it waiting, or fetch the repo."""

from collections.abc import Callable, Iterable

from prometheus_client import Counter

from indexer.catalog.tables.dead_letters import DeadLetter
from indexer.catalog.tables.waiting_commits import WaitingCommit
from indexer.catalog.writing.batch import Batch
from indexer.events import Account, Commit, Frame, Identity, Sync, Unverified
from indexer.repo import chain, signing_keys, verify
from indexer.repo.changes import RecordChange, RepoHead, changes_of
from indexer.repo.signing_keys import KeyFault
from indexer.sync.states import Repo, RepoEvent, Repos
from schemas.ids import Did, Nsid

VERIFIED = Counter("fmsvc_commits_total", "Commits of tracked repos, by what became of them.", ["result"])


class EventApplier:
    """Follows the table in `states.py`. Never awaits: a commit that cannot be verified yet is stored.

    `ask` queues resyncs of repos. `doubt` is called for accounts with a possibly outdated signing key,
    `forget` for accounts with any part of the identity possibly outdated.
    """

    def __init__(
        self,
        repos: Repos,
        collections: frozenset[Nsid],
        *,
        ask: Callable[[Iterable[Did]], None],
        doubt: Callable[[Did], None],
        forget: Callable[[Did], None],
    ) -> None:
        self._repos = repos
        self._collections = collections
        self._ask = ask
        self._doubt = doubt
        self._forget = forget

    def commit(self, commit: Commit, frame: Frame, batch: Batch) -> None:
        """Apply a commit, or keep it waiting for a resync."""
        match self._repos.effect("commit", commit.did):
            case "verify":
                self._verify(self._repos[commit.did], commit, frame, batch)
            case "queue":
                if commit.did not in self._repos:
                    self._meet(commit, batch)
                self._wait(commit, frame, batch, "waiting")
                self._ask([commit.did])
            case _:
                self._wait(commit, frame, batch, "waiting")
                if self._repos[commit.did].loose:
                    batch.changes += self._proven_alone(commit)

    def unverified(self, change: Unverified, batch: Batch) -> None:
        """Apply an unverified change, and have the repo fetched to verify it."""
        VERIFIED.labels("unverified").inc()
        batch.changes += changes_of(change, self._collections)
        self.happened("unproven change", change.did, batch, "a change came without proof")

    def sync(self, sync: Sync, frame: Frame, batch: Batch) -> None:
        """Apply a #sync: the repo is fetched unless its tree is the one that we have."""
        if self._repos.effect("sync", sync.did) != "compare":
            self.happened("sync", sync.did, batch, "set anew")
            return
        repo = self._repos[sync.did]
        if repo.rev is None or sync.rev <= repo.rev:
            return
        try:
            key = signing_keys.parse_key(repo.key or "")
            head = verify.verify_sync(sync, key)
        except verify.Refused as refused:
            batch.dead_letters.append(_dead_letter(sync, frame, str(refused)))
            if refused.check == "signature":
                self._doubt(sync.did)
            self._leave(sync.did, batch, str(refused))
        except KeyFault:
            self._leave(sync.did, batch, "the key is not known")
        else:
            if head.data == repo.data:
                self._become(sync.did, batch, RepoHead("active", head.rev, head.data))
            else:
                self._leave(sync.did, batch, "set anew")

    def account(self, account: Account, batch: Batch) -> None:
        """Apply an account's status, from the stream or from the relay's answer."""
        batch.accounts.append(account)
        if account.status == "deleted":
            # A PDS that the account has left may say so: its current one is asked.
            self.doubt_identity(account.did, batch)
            self.happened("doubt", account.did, batch, "said to be deleted")
        elif account.status == "active":
            # A PDS does not confirm the handle of an account that is not active.
            self.doubt_identity(account.did, batch)

    def identity(self, identity: Identity, batch: Batch) -> None:
        """Apply an #identity: the account's handle, PDS and signing key may be outdated."""
        self._repos.doubt_key(identity.did)
        self.doubt_identity(identity.did, batch)

    def doubt_identity(self, did: Did, batch: Batch) -> None:
        """Have the account's identity resolved again."""
        self._forget(did)
        batch.stale.add(did)

    def resolved(self, did: Did) -> None:
        """The account's identity was resolved: a resync that failed for lack of a key is tried at once."""
        if did in self._repos:
            repo = self._repos[did]
            if repo.state != "active" and repo.lacks_key and repo.key is not None:
                self._ask([did])

    def happened(self, what: RepoEvent, did: Did, batch: Batch, reason: str) -> None:
        """Apply an event that is decided by its kind alone."""
        urgent = what != "unproven change"
        match self._repos.effect(what, did):
            case "fetch":
                self._leave(did, batch, reason, urgent=urgent)
            case "again":
                repo = self._repos[did]
                repo.fetch, repo.urgent = True, repo.urgent or urgent
                batch.again.add(did)
                self._ask([did])  # The running resync may be about to end without fetching.
            case "forget":
                is_resyncing = self._repos[did].state == "resyncing"
                self._become(did, batch, RepoHead("resyncing" if is_resyncing else "pending", fetch=True))

    def _meet(self, commit: Commit, batch: Batch) -> None:
        """Track a repo by its first commit that we see. A commit on an empty tree holds all of the repo."""
        fetch = not chain.follows_head(commit, RepoHead("pending"))
        self._become(commit.did, batch, RepoHead("pending", fetch=fetch))

    def _verify(self, repo: Repo, commit: Commit, frame: Frame, batch: Batch) -> None:
        mark = RepoHead("active", repo.rev, repo.data)
        if repo.rev is not None and commit.rev <= repo.rev:
            VERIFIED.labels("known").inc()
            return
        if repo.key is None:
            self._stall(commit, frame, batch, "the key is not known", fetch=False)
            return
        try:
            head = verify.verify_commit(commit, signing_keys.parse_key(repo.key))
        except verify.Refused as refused:
            self._refused(refused, commit, frame, batch)
        except (verify.Unproven, KeyFault) as why:
            self._stall(commit, frame, batch, str(why), fetch=True)
        else:
            if chain.follows_head(commit, mark):
                VERIFIED.labels("applied").inc()
                batch.changes += changes_of(commit, self._collections)
                self._become(commit.did, batch, RepoHead("active", head.rev, head.data))
            else:
                self._stall(commit, frame, batch, "a commit is missing", fetch=True)

    def _proven_alone(self, commit: Commit) -> list[RecordChange]:
        """The changes of a commit that is verified by itself, whether or not it chains."""
        try:
            verify.verify_commit(commit, signing_keys.parse_key(self._repos[commit.did].key or ""))
        except (verify.Refused, verify.Unproven, KeyFault):
            return []
        return changes_of(commit, self._collections)

    def _refused(self, refused: verify.Refused, commit: Commit, frame: Frame, batch: Batch) -> None:
        VERIFIED.labels(refused.check).inc()
        if refused.check == "signature":
            # The account may have a new key: the resync resolves it, and verifies this commit again.
            self._doubt(commit.did)
            self._stall(commit, frame, batch, "a signature does not hold", fetch=False)
        else:
            batch.dead_letters.append(_dead_letter(commit, frame, str(refused)))
            self._leave(commit.did, batch, "a commit was refused")

    def _stall(self, commit: Commit, frame: Frame, batch: Batch, reason: str, *, fetch: bool) -> None:
        """The repo is out of step: this commit waits for a resync, and so do those after it."""
        self._wait(commit, frame, batch, "stalled")
        self._leave(commit.did, batch, reason, fetch=fetch)

    def _wait(self, commit: Commit, frame: Frame, batch: Batch, result: str) -> None:
        VERIFIED.labels(result).inc()
        repo = self._repos[commit.did]
        repo.waits |= repo.state == "resyncing" and repo.resync_batch is not batch
        batch.waiting.append(
            WaitingCommit(commit.did, commit.rev, frame.received_at, frame.source, commit.seq, commit.raw)
        )

    def _leave(self, did: Did, batch: Batch, reason: str, *, fetch: bool = True, urgent: bool = True) -> None:
        """Mark the repo as out of step and queue a resync; applied commits stay until then."""
        repo = self._repos.track(did)
        repo.fetch |= fetch
        repo.urgent |= urgent
        state = repo.state if repo.state == "pending" else "desynchronized"
        self._become(did, batch, RepoHead(state, repo.rev, repo.data, repo.fetch, reason))
        self._ask([did])

    def _become(self, did: Did, batch: Batch, mark: RepoHead) -> None:
        self._repos.become(did, mark)
        batch.repos[did] = mark


def _dead_letter(event: Commit | Sync, frame: Frame, reason: str) -> DeadLetter:
    return DeadLetter(frame.received_at, frame.source, event.seq, event.did, reason, event.raw)
