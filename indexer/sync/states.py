"""The state of each repo, and the table of what each event does in each state.

A repo is **pending** until its records were fetched once, **resyncing** while a resync is under way,
**active** when every commit has chained onto the one before, **desynchronized** when one did not or could not
be verified, and in **error** when it could not be fetched; then it is tried again, more and more slowly. What
an account's hosting status hides or removes is decided in `indexer/catalog/tables/accounts.py`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from indexer.catalog.tables.repos import StoredRepo
from indexer.repo.changes import RepoHead, State
from schemas.ids import Did, Tid

RepoEvent = Literal["commit", "faulty commit", "sync", "unproven change", "doubt", "listed", "removed"]

# pass: do nothing.  verify: verify the commit, and apply it if it chains.  compare: compare its tree.
# wait: keep the commit for a resync.  queue: keep it, and queue a resync.  fetch: fetch the repo in any case.
# again: fetch at the next attempt, because the running one may be too early.  forget: discard our head.
Effect = Literal["pass", "verify", "compare", "wait", "queue", "fetch", "again", "forget"]

_ROWS: Final[Mapping[RepoEvent, tuple[Effect, ...]]] = {
    #                   unknown  pending   resyncing  active     desynchronized  error
    "commit":          ("queue", "queue",  "wait",    "verify",  "queue",        "wait"),
    "faulty commit":   ("fetch", "fetch",  "again",   "fetch",   "fetch",        "again"),
    "sync":            ("pass",  "fetch",  "again",   "compare", "fetch",        "fetch"),
    "unproven change": ("fetch", "fetch",  "again",   "fetch",   "fetch",        "again"),
    "doubt":           ("pass",  "fetch",  "again",   "fetch",   "fetch",        "fetch"),
    "listed":          ("fetch", "pass",   "pass",    "pass",    "pass",         "pass"),
    "removed":         ("pass",  "forget", "forget",  "forget",  "forget",       "forget"),
}  # fmt: skip

_COLUMNS: Final = ("unknown", "pending", "resyncing", "active", "desynchronized", "error")

EFFECTS: Final = MappingProxyType(
    {
        (happening, state): effect
        for happening, effects in _ROWS.items()
        for state, effect in zip(_COLUMNS, effects, strict=True)
    }
)


@dataclass(slots=True)
class Repo:
    """A repo's state in memory. `rev` and `data` are those of the newest applied commit.

    `key`: the signing key, None while it has to be resolved. `fetch`: only a fetch can make the repo active;
    `urgent`: records may be missing until then, otherwise the fetch only verifies shown records.
    `rests_until`: the earliest time of a fetch that is not urgent, by the monotonic clock.
    `reason`: why it is not active. `lacks_key`: the last resync found no signing key. `loose`: it cannot be
    fetched for long, so verified commits are applied though they do not chain. `waits`: a commit arrived too
    late for the resync result that is being written, which is in the batch `resync_batch`.
    """

    state: State = "pending"
    rev: Tid | None = None
    data: bytes | None = None
    key: str | None = None
    pds: str | None = None
    fetch: bool = True
    urgent: bool = True
    rests_until: float = 0.0
    reason: str | None = None
    lacks_key: bool = False
    loose: bool = False
    waits: bool = False
    resync_batch: object = None


class Repos:
    """Every repo that ever held a record of our collections, as of the newest batch, committed or not."""

    def __init__(self, stored: Iterable[StoredRepo] = ()) -> None:
        self.by_state: Counter[State] = Counter()
        self._repos: dict[Did, Repo] = {}
        for did, mark, key, pds in stored:
            self.become(did, mark)
            self.learn(did, key, pds)

    def __contains__(self, did: object) -> bool:
        return did in self._repos

    def __getitem__(self, did: Did) -> Repo:
        return self._repos[did]

    def __iter__(self) -> Iterator[Did]:
        return iter(self._repos)

    def __len__(self) -> int:
        return len(self._repos)

    def effect(self, happening: RepoEvent, did: Did) -> Effect:
        """The effect of an event on a repo, by the table."""
        repo = self._repos.get(did)
        return EFFECTS[happening, "unknown" if repo is None else repo.state]

    def track(self, did: Did) -> Repo:
        """The repo, tracked from now on."""
        repo = self._repos.get(did)
        if repo is None:
            repo = self._repos[did] = Repo()
            self.by_state["pending"] += 1
        return repo

    def learn(self, did: Did, key: str | None, pds: str | None) -> None:
        """Note the account's signing key and its PDS."""
        if repo := self._repos.get(did):
            repo.key, repo.pds = key, pds

    def doubt_key(self, did: Did) -> None:
        """Forget the signing key, which may have changed."""
        if repo := self._repos.get(did):
            repo.key = None

    def become(self, did: Did, mark: RepoHead) -> None:
        """Set the repo's state and head."""
        repo = self.track(did)
        self.by_state[repo.state] -= 1
        self.by_state[mark.state] += 1
        repo.state, repo.rev, repo.data = mark.state, mark.rev, mark.data
        repo.fetch, repo.reason = mark.fetch, mark.reason
        repo.urgent &= mark.state != "active"

    def resynced(self, did: Did, mark: RepoHead) -> None:
        """A resync result is committed: the repo is active, unless later events need another one."""
        repo = self._repos[did]
        repo.resync_batch = None
        done = mark.state == "active" and not (repo.fetch or repo.waits)
        # Events before the resync have set `urgent` already; commits that it found missing set it now.
        repo.urgent |= mark.fetch and not repo.fetch
        fetch = mark.fetch or repo.fetch
        self.become(did, mark if done else RepoHead("resyncing", mark.rev, mark.data, fetch, mark.reason))

    def out_of_step(self) -> Iterator[Did]:
        """Repos that need a resync, those that were active before first."""
        for wanted in ("desynchronized", "pending", "error"):
            yield from (did for did, repo in self._repos.items() if repo.state == wanted)

    def chaining(self) -> list[Did]:
        """Repos that waiting commits alone should make active: losing one of these would go unnoticed."""
        return [did for did, repo in self._repos.items() if repo.state != "active" and not repo.fetch]
