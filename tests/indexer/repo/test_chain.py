"""Waiting commits are replayed in order of rev; only an unbroken chain moves the repo's head."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from indexer.events import Commit
from indexer.repo import chain, signing_keys
from indexer.repo.chain import Replayed
from indexer.repo.changes import RepoHead
from indexer.stream.decode import decode_frame
from schemas.collections import Collections
from schemas.ids import tid_at
from tests import documents
from tests.network.forge import ForgedRepo

OURS = Collections().all
NOW = datetime(2025, 1, 1, 1, tzinfo=UTC)
NEW = RepoHead("pending")
TITLES = ("First", "Second", "Third")


def commits(repo: ForgedRepo, *titles: str) -> list[Commit]:
    """One commit for each of these new tracks."""
    made = []
    for seq, title in enumerate(titles, 1):
        repo.create("fm.svc.track", documents.least("track") | {"title": title})
        [event] = decode_frame(repo.commit_frame(seq), OURS, (), NOW)
        assert isinstance(event, Commit)
        made.append(event)
    return made


def replayed(repo: ForgedRepo, *waiting: Commit, known: RepoHead = NEW, loose: bool = False) -> Replayed:
    key = signing_keys.parse_key(repo.key.multibase)
    return chain.replay_commits(known, waiting, key, OURS, loose=loose)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_commits_chain_in_order_of_rev_whatever_the_order_of_arrival(order: tuple[int, ...]) -> None:
    """The head is the newest commit, and the changes stand in the order in which they were made."""
    repo = ForgedRepo()
    made = commits(repo, *TITLES)

    result = replayed(repo, *(made[place] for place in order))

    assert (result.mark.state, result.mark.rev) == ("active", made[-1].rev)
    assert [change.rev for change in result.changes] == [commit.rev for commit in made]
    assert (result.refused, result.left) == ([], [])


def test_a_missing_commit_leaves_those_after_it() -> None:
    """The head stays before the gap: what the missing commit did is not known."""
    repo = ForgedRepo()
    first, _, third = commits(repo, *TITLES)

    result = replayed(repo, first, third)

    assert result.mark.rev == first.rev
    assert result.left == [third]
    assert [change.rev for change in result.changes] == [first.rev]


def test_a_loose_replay_applies_what_is_verified_but_does_not_move_the_head_past_a_gap() -> None:
    """For repos that cannot be fetched: a signed commit is shown although one before it is missing."""
    repo = ForgedRepo()
    first, _, third = commits(repo, *TITLES)

    result = replayed(repo, first, third, loose=True)

    assert [change.rev for change in result.changes] == [first.rev, third.rev]
    assert result.mark.rev == first.rev


def test_commits_up_to_the_known_head_are_skipped() -> None:
    """A relay may repeat them."""
    repo = ForgedRepo()
    made = commits(repo, *TITLES)
    known = replayed(repo, *made[:2]).mark

    result = replayed(repo, *made, known=known)

    assert [change.rev for change in result.changes] == [made[2].rev]


def test_a_commit_that_another_key_signed_is_refused_with_the_reason() -> None:
    """It neither ends the chain nor is it kept among those that may chain later."""
    repo, other = ForgedRepo(), ForgedRepo(seed="other")
    first, second = commits(repo, "First", "Second")
    forged = replace(commits(other, "Forged")[0], did=first.did, rev=tid_at(NOW))

    result = replayed(repo, first, forged, second)

    assert result.mark.rev == second.rev
    [(commit, reason)] = result.refused
    assert commit is forged
    assert reason


@pytest.mark.parametrize("start", [NEW, RepoHead("pending", tid_at(NOW), b"another tree")])
def test_a_first_commit_follows_an_unknown_repo_only(start: RepoHead) -> None:
    """A commit on an empty tree holds the whole repo; onto records that we know it does not chain."""
    [first] = commits(ForgedRepo(), "First")

    assert chain.follows_head(first, start) is (start is NEW)


def test_a_commit_follows_the_head_that_it_names() -> None:
    """By the tree before it and by the rev before it: one of them alone is not enough."""
    repo = ForgedRepo()
    first, second = commits(repo, "First", "Second")
    head = replayed(repo, first).mark

    assert chain.follows_head(second, head)
    assert not chain.follows_head(replace(second, since=tid_at(NOW)), head)
    assert not chain.follows_head(replace(second, prev_data=b"another tree"), head)
