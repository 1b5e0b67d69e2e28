"""The state each repo is in, and what each event does in it.

A repo is **pending** until its records were fetched once, **resyncing** while that is under way, **active**
when every commit has chained onto the one before, **desynchronized** when one did not or could not be proven,
and in **error** when it could not be fetched; then it is tried again, more and more slowly. What an account's
hosting status hides or removes is another matter: see `accounts.py`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from indexer.batch import RepoMark, State
from indexer.marks import Stored
from schemas.ids import Did, Tid

Happening = Literal["commit", "faulty commit", "sync", "unproven change", "doubt", "listed", "removed"]

# pass: nothing.  verify: check the commit, and apply it if it chains.  compare: is that the tree we have?
# wait: keep the commit for later.  queue: that, and fetch the repo.  fetch: fetch it, whatever we know.
# again: fetch it at the next attempt, because one under way may be too early.  forget: what we know is void.
Effect = Literal["pass", "verify", "compare", "wait", "queue", "fetch", "again", "forget"]

_ROWS: Final[Mapping[Happening, tuple[Effect, ...]]] = {
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
    """What is held in memory of each. `rev` and `data` are those of the newest commit that is applied.

    `key`: the signing key, None while it has to be asked for. `fetch`: only a fetch can put it in step;
    `urgent`: and something may be missing until then, else it only proves what is shown. `rests_until`: when
    it may be fetched again for that alone, by the monotonic clock.
    `reason`: why it is not active. `loose`: it cannot be fetched for long, so commits are shown that are
    proven by themselves. `waits`: a commit came too late for the mend that is being written, which is in the
    batch `mending`.
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
    loose: bool = False
    waits: bool = False
    mending: object = None


class Repos:
    """Every repo that ever held a record of ours, as of the newest batch, written or under way."""

    def __init__(self, stored: Iterable[Stored] = ()) -> None:
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

    def effect(self, happening: Happening, did: Did) -> Effect:
        """What this does to that repo, by the table."""
        repo = self._repos.get(did)
        return EFFECTS[happening, "unknown" if repo is None else repo.state]

    def track(self, did: Did) -> Repo:
        """The repo, known from now on."""
        repo = self._repos.get(did)
        if repo is None:
            repo = self._repos[did] = Repo()
            self.by_state["pending"] += 1
        return repo

    def learn(self, did: Did, key: str | None, pds: str | None) -> None:
        """The account's signing key and its server."""
        if repo := self._repos.get(did):
            repo.key, repo.pds = key, pds

    def doubt_key(self, did: Did) -> None:
        """The signing key may have changed."""
        if repo := self._repos.get(did):
            repo.key = None

    def become(self, did: Did, mark: RepoMark) -> None:
        """The repo stands there now."""
        repo = self.track(did)
        self.by_state[repo.state] -= 1
        self.by_state[mark.state] += 1
        repo.state, repo.rev, repo.data = mark.state, mark.rev, mark.data
        repo.fetch, repo.reason = mark.fetch, mark.reason
        repo.urgent &= mark.state != "active"

    def mended(self, did: Did, mark: RepoMark) -> None:
        """A mend is written: the repo is in step, unless something came that the mend did not see."""
        repo = self._repos[did]
        repo.mending = None
        done = mark.state == "active" and not (repo.fetch or repo.waits)
        # What the mend was told of is either urgent already or not; what it found missing is.
        repo.urgent |= mark.fetch and not repo.fetch
        fetch = mark.fetch or repo.fetch
        self.become(did, mark if done else RepoMark("resyncing", mark.rev, mark.data, fetch, mark.reason))

    def out_of_step(self) -> Iterator[Did]:
        """Repos that want a resync, those that were in step before first."""
        for wanted in ("desynchronized", "pending", "error"):
            yield from (did for did, repo in self._repos.items() if repo.state == wanted)

    def chaining(self) -> list[Did]:
        """Repos that commits alone are to put in step: nobody would notice that one of those is lost."""
        return [did for did, repo in self._repos.items() if repo.state != "active" and not repo.fetch]

    def in_step(self) -> Iterator[tuple[Did, Repo]]:
        """Active repos."""
        return ((did, repo) for did, repo in self._repos.items() if repo.state == "active")
