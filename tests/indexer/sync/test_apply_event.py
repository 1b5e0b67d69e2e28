"""What an event does to a repo that is unknown, in step, or out of step: applied, kept waiting, or fetched.

`test_states.py` holds the table; here forged commits pass through it, and the batch shows the outcome.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from indexer.catalog.tables.repos import StoredRepo
from indexer.catalog.writing.batch import Batch
from indexer.events import Account, Commit, Event, Frame, Identity, Sync
from indexer.repo.changes import RepoHead, State
from indexer.stream.decode import decode_frame
from indexer.sync.apply_event import EventApplier
from indexer.sync.states import Repos
from schemas.collections import Collections
from schemas.ids import Did, Tid
from tests import documents
from tests.network.forge import ForgedRepo, SigningKey

OURS = Collections().all
NOW = datetime(2025, 1, 1, 1, tzinfo=UTC)
TRACK = "fm.svc.track"


@dataclass
class Applier:
    """An EventApplier over repos in memory, with lists of what it asked of the rest of the indexer."""

    repos: Repos = field(default_factory=Repos)
    asked: list[Did] = field(default_factory=list)
    doubted: list[Did] = field(default_factory=list)
    forgotten: list[Did] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._applier = EventApplier(
            self.repos, OURS, ask=self.asked.extend, doubt=self.doubted.append, forget=self.forgotten.append
        )

    def take(self, raw: bytes) -> Batch:
        """Apply one frame to a batch of its own."""
        batch, frame = Batch(), Frame("wss://relay.example", raw, NOW)
        event = read(raw, self.repos)
        match event:
            case Commit():
                self._applier.commit(event, frame, batch)
            case Sync():
                self._applier.sync(event, frame, batch)
            case Account():
                self._applier.account(event, batch)
            case Identity():
                self._applier.identity(event, batch)
            case _:
                pytest.fail(f"no event of these kinds: {event}")
        return batch

    def resolved(self, did: Did) -> None:
        """The account's identity was resolved."""
        self._applier.resolved(did)

    def know(self, repo: ForgedRepo, head: RepoHead, key: SigningKey | None = None) -> None:
        """Have the repo stored with this head and the account's signing key."""
        stored = StoredRepo(Did(repo.did), head, (key or repo.key).multibase, None)
        self.repos.become(stored.did, head)
        self.repos.learn(stored.did, stored.key, None)


def read(raw: bytes, tracked: Repos) -> Event:
    [event] = decode_frame(raw, OURS, tracked, NOW)
    return event


@pytest.fixture
def applier() -> Applier:
    return Applier()


def commit(repo: ForgedRepo, title: str, seq: int = 1) -> bytes:
    """A new track's commit."""
    repo.create(TRACK, documents.least("track") | {"title": title})
    return repo.commit_frame(seq)


def in_step(applier: Applier, repo: ForgedRepo) -> None:
    """Commit a first track, and let the index know the repo up to it."""
    event = read(commit(repo, "First"), applier.repos)
    assert isinstance(event, Commit)
    applier.know(repo, RepoHead("active", event.rev, tree_of(repo)))


def tree_of(repo: ForgedRepo) -> bytes:
    return bytes(repo._root)


def state(applier: Applier, repo: ForgedRepo) -> State:
    return applier.repos[Did(repo.did)].state


@pytest.mark.parametrize(("earlier", "fetch"), [(0, False), (1, True)])
def test_a_repo_is_met_by_its_first_commit(applier: Applier, earlier: int, fetch: bool) -> None:
    """One on an empty tree holds the whole repo, so that nothing has to be fetched."""
    repo = ForgedRepo()
    for number in range(earlier):
        commit(repo, f"Before {number}")

    batch = applier.take(commit(repo, "First that we see"))

    assert batch.repos == {repo.did: RepoHead("pending", fetch=fetch)}
    assert [waiting.did for waiting in batch.waiting] == [repo.did]
    assert (batch.changes, applier.asked) == ([], [repo.did])


def test_a_commit_that_follows_the_head_is_applied(applier: Applier) -> None:
    """Its records go into the batch, with the repo's new head, and nothing is asked of any server."""
    repo = ForgedRepo()
    in_step(applier, repo)

    batch = applier.take(commit(repo, "Second"))

    assert [(change.did, change.verified) for change in batch.changes] == [(repo.did, "commit")]
    assert batch.repos == {repo.did: RepoHead("active", Tid(repo.rev or ""), tree_of(repo))}
    assert (batch.waiting, applier.asked) == ([], [])


def test_a_commit_up_to_the_head_is_dropped(applier: Applier) -> None:
    """Relays repeat commits."""
    repo = ForgedRepo()
    raw = commit(repo, "First")
    event = read(raw, applier.repos)
    assert isinstance(event, Commit)
    applier.know(repo, RepoHead("active", event.rev, tree_of(repo)))

    batch = applier.take(raw)

    assert batch == Batch()


def test_after_a_gap_commits_wait_until_the_repo_was_fetched(applier: Applier) -> None:
    """Nothing of them is shown before, and the head stays where it was."""
    repo = ForgedRepo()
    in_step(applier, repo)
    before = repo.rev
    commit(repo, "Lost")

    batch = applier.take(commit(repo, "After the gap"))

    head = batch.repos[Did(repo.did)]
    assert (head.state, head.rev, head.fetch) == ("desynchronized", before, True)
    assert head.reason == "a commit is missing"
    assert [waiting.rev for waiting in batch.waiting] == [repo.rev]
    assert (batch.changes, applier.asked) == ([], [repo.did])


def test_a_signature_that_does_not_hold_casts_doubt_on_the_key_first(applier: Applier) -> None:
    """The account may have a new key: the commit waits for it, and is no dead letter yet."""
    repo = ForgedRepo()
    in_step(applier, repo)
    applier.know(repo, RepoHead("active", Tid(repo.rev or ""), tree_of(repo)), SigningKey("the key before"))

    batch = applier.take(commit(repo, "Signed with the new key"))

    assert applier.doubted == [repo.did]
    assert [waiting.rev for waiting in batch.waiting] == [repo.rev]
    assert (batch.changes, batch.dead_letters) == ([], [])


def test_a_sync_event_of_the_tree_that_we_have_moves_the_rev_alone(applier: Applier) -> None:
    """No record differs, so nothing is fetched."""
    repo = ForgedRepo()
    in_step(applier, repo)
    repo.commit_frame(2)  # an empty commit, which the relay did not pass on

    batch = applier.take(repo.sync_frame(3))

    assert batch.repos[Did(repo.did)].rev == repo.rev
    assert (state(applier, repo), applier.asked) == ("active", [])


def test_a_sync_event_of_another_tree_has_the_repo_fetched(applier: Applier) -> None:
    """What has been applied stays shown until then."""
    repo = ForgedRepo()
    in_step(applier, repo)
    commit(repo, "Imported")

    batch = applier.take(repo.sync_frame(3))

    assert batch.repos[Did(repo.did)].fetch
    assert (state(applier, repo), applier.asked) == ("desynchronized", [repo.did])


@pytest.mark.parametrize("status", ["active", "deleted", "suspended"])
def test_a_status_is_stored_and_a_deletion_is_checked_at_the_accounts_pds(
    applier: Applier, status: str
) -> None:
    """A PDS that the account has left may call it deleted, so that the word of one relay removes nothing."""
    repo = ForgedRepo()
    in_step(applier, repo)

    batch = applier.take(repo.account_frame(2, status))

    assert [event.status for event in batch.accounts] == [status]
    assert applier.asked == ([repo.did] if status == "deleted" else [])
    assert applier.forgotten == ([] if status == "suspended" else [repo.did])


def test_an_identity_event_has_handle_pds_and_key_resolved_again(applier: Applier) -> None:
    """Until then the key is unknown, so that a commit waits for it."""
    repo = ForgedRepo()
    in_step(applier, repo)

    batch = applier.take(repo.identity_frame(2))
    waiting = applier.take(commit(repo, "While the key is unknown")).waiting

    assert batch.stale == {repo.did}
    assert applier.forgotten == [repo.did]
    assert [one.rev for one in waiting] == [repo.rev]


@pytest.mark.parametrize(
    ("state", "lacks_key", "key", "is_asked"),
    [
        ("error", True, "zKey", True),
        ("resyncing", True, "zKey", True),
        ("error", True, None, False),
        ("error", False, "zKey", False),
        ("active", True, "zKey", False),
    ],
)
def test_a_resync_is_tried_at_once_only_where_a_key_was_missing(
    state: State, lacks_key: bool, key: str | None, is_asked: bool
) -> None:
    """Others have a reason for their pause: a server that is down, or a repo that is too large."""
    applier, did = Applier(), Did("did:plc:waiting")
    applier.resolved(did)
    applier.repos.become(did, RepoHead(state))
    applier.repos.learn(did, key, None)
    applier.repos[did].lacks_key = lacks_key

    applier.resolved(did)

    assert applier.asked == [did] * is_asked
