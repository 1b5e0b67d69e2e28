"""What each event does to its repo, put into effect: applied, kept for later, or answered with a fetch."""

from collections.abc import Callable, Iterable

from prometheus_client import Counter

from indexer import chain, keys, verify
from indexer.batch import Batch, DeadLetter, RecordChange, RepoMark, WaitingCommit
from indexer.changes import changes_of
from indexer.events import Account, Commit, Frame, Identity, Sync, Unverified
from indexer.keys import KeyFault
from indexer.repos import Happening, Repo, Repos
from schemas.ids import Did, Nsid

VERIFIED = Counter("fmsvc_commits_total", "Commits of tracked repos, by what became of them.", ["result"])


class Judge:
    """Follows the table of `repos.py`. Never waits: what cannot be decided now waits in the batch.

    `ask` is told of repos that want a resync, `doubt` of accounts whose signing key may have changed,
    `forget` of those that may have become somebody else in any way.
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
        """Take a commit over, or see to it that it is taken over later."""
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
        """Take over what a host says, until the repo itself is fetched."""
        VERIFIED.labels("unverified").inc()
        batch.changes += changes_of(change, self._collections)
        self.happened("unproven change", change.did, batch, "a change came without proof")

    def sync(self, sync: Sync, frame: Frame, batch: Batch) -> None:
        """The repo was set anew: is that what we have?"""
        if self._repos.effect("sync", sync.did) != "compare":
            self.happened("sync", sync.did, batch, "set anew")
            return
        repo = self._repos[sync.did]
        if repo.rev is None or sync.rev <= repo.rev:
            return
        try:
            key = keys.parse(repo.key or "")
            head = verify.sync(sync, key)
        except verify.Refused as refused:
            batch.dead_letters.append(_dead_letter(sync, frame, str(refused)))
            if refused.check == "signature":
                self._doubt(sync.did)
            self._leave(sync.did, batch, str(refused))
        except KeyFault:
            self._leave(sync.did, batch, "the key is not known")
        else:
            if head.data == repo.data:
                self._become(sync.did, batch, RepoMark("active", head.rev, head.data))
            else:
                self._leave(sync.did, batch, "set anew")

    def account(self, account: Account, batch: Batch) -> None:
        """Take over a status, whether the stream tells of it or the relay was asked."""
        batch.accounts.append(account)
        if account.status == "deleted":
            # Perhaps by a server that it has left. The one that it is on now is asked.
            self.doubt_identity(account.did, batch)
            self.happened("doubt", account.did, batch, "said to be deleted")
        elif account.status == "active":
            # Servers do not answer for the handle of somebody who is away.
            self.doubt_identity(account.did, batch)

    def identity(self, identity: Identity, batch: Batch) -> None:
        """Whatever is known of the account's name, server and key may be outdated."""
        self._repos.doubt_key(identity.did)
        self.doubt_identity(identity.did, batch)

    def doubt_identity(self, did: Did, batch: Batch) -> None:
        """Have it asked for again."""
        self._forget(did)
        batch.stale.add(did)

    def happened(self, what: Happening, did: Did, batch: Batch, reason: str) -> None:
        """Something that needs no looking at."""
        urgent = what != "unproven change"
        match self._repos.effect(what, did):
            case "fetch":
                self._leave(did, batch, reason, urgent=urgent)
            case "again":
                repo = self._repos[did]
                repo.fetch, repo.urgent = True, repo.urgent or urgent
                batch.again.add(did)
                self._ask([did])  # The resync may be about to end, having found nothing to fetch.
            case "forget":
                is_mended = self._repos[did].state == "resyncing"
                self._become(did, batch, RepoMark("resyncing" if is_mended else "pending", fetch=True))

    def _meet(self, commit: Commit, batch: Batch) -> None:
        """The first that we see of this repo. On an empty tree, it is all that there is."""
        fetch = not chain.follows(commit, RepoMark("pending"))
        self._become(commit.did, batch, RepoMark("pending", fetch=fetch))

    def _verify(self, repo: Repo, commit: Commit, frame: Frame, batch: Batch) -> None:
        mark = RepoMark("active", repo.rev, repo.data)
        if repo.rev is not None and commit.rev <= repo.rev:
            VERIFIED.labels("known").inc()
            return
        if repo.key is None:
            self._stall(commit, frame, batch, "the key is not known", fetch=False)
            return
        try:
            head = verify.commit(commit, keys.parse(repo.key))
        except verify.Refused as refused:
            self._refused(refused, commit, frame, batch)
        except (verify.Unproven, KeyFault) as why:
            self._stall(commit, frame, batch, str(why), fetch=True)
        else:
            if chain.follows(commit, mark):
                VERIFIED.labels("applied").inc()
                batch.changes += changes_of(commit, self._collections)
                self._become(commit.did, batch, RepoMark("active", head.rev, head.data))
            else:
                self._stall(commit, frame, batch, "a commit is missing", fetch=True)

    def _proven_alone(self, commit: Commit) -> list[RecordChange]:
        """What a commit says that is genuine, whatever came before it."""
        try:
            verify.commit(commit, keys.parse(self._repos[commit.did].key or ""))
        except (verify.Refused, verify.Unproven, KeyFault):
            return []
        return changes_of(commit, self._collections)

    def _refused(self, refused: verify.Refused, commit: Commit, frame: Frame, batch: Batch) -> None:
        VERIFIED.labels(refused.check).inc()
        if refused.check == "signature":
            # The account may have a new key: the resync asks for it, and judges this commit again.
            self._doubt(commit.did)
            self._stall(commit, frame, batch, "a signature does not hold", fetch=False)
        else:
            batch.dead_letters.append(_dead_letter(commit, frame, str(refused)))
            self._leave(commit.did, batch, "a commit was refused")

    def _stall(self, commit: Commit, frame: Frame, batch: Batch, reason: str, *, fetch: bool) -> None:
        """Not in step any more: this commit waits, and so do those behind it."""
        self._wait(commit, frame, batch, "stalled")
        self._leave(commit.did, batch, reason, fetch=fetch)

    def _wait(self, commit: Commit, frame: Frame, batch: Batch, result: str) -> None:
        VERIFIED.labels(result).inc()
        repo = self._repos[commit.did]
        repo.waits |= repo.state == "resyncing" and repo.mending is not batch
        batch.waiting.append(
            WaitingCommit(commit.did, commit.rev, frame.received_at, frame.source, commit.seq, commit.raw)
        )

    def _leave(self, did: Did, batch: Batch, reason: str, *, fetch: bool = True, urgent: bool = True) -> None:
        """Out of step; what is applied stays as it is until a resync."""
        repo = self._repos.track(did)
        repo.fetch |= fetch
        repo.urgent |= urgent
        state = repo.state if repo.state == "pending" else "desynchronized"
        self._become(did, batch, RepoMark(state, repo.rev, repo.data, repo.fetch, reason))
        self._ask([did])

    def _become(self, did: Did, batch: Batch, mark: RepoMark) -> None:
        self._repos.become(did, mark)
        batch.repos[did] = mark


def _dead_letter(event: Commit | Sync, frame: Frame, reason: str) -> DeadLetter:
    return DeadLetter(frame.received_at, frame.source, event.seq, event.did, reason, event.raw)
