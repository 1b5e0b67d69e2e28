"""The table that says what each event does to a repo, and what is held of one in memory."""

from itertools import product
from typing import get_args

import pytest

from indexer.catalog.tables.repos import StoredRepo
from indexer.repo.changes import RepoHead, State
from indexer.sync.states import EFFECTS, Effect, RepoEvent, Repos
from schemas.ids import Did, Tid

ANA = Did("did:plc:" + "a" * 24)
REV = Tid("3jzfcijpj2z2a")
ACTIVE = RepoHead("active", REV, b"tree")


def test_the_table_answers_every_question() -> None:
    states = ("unknown", *get_args(State))

    assert set(EFFECTS) == set(product(get_args(RepoEvent), states))
    assert set(EFFECTS.values()) == set(get_args(Effect))


@pytest.mark.parametrize("state", [state for state in get_args(State) if state != "active"])
def test_a_commit_is_applied_to_an_active_repo_only(state: State) -> None:
    assert EFFECTS["commit", "active"] == "verify"
    assert EFFECTS["commit", state] in ("wait", "queue")


@pytest.mark.parametrize("happening", ["faulty commit", "unproven change", "doubt"])
def test_what_casts_doubt_on_a_repo_in_step_has_it_fetched(happening: RepoEvent) -> None:
    assert EFFECTS[happening, "active"] == "fetch"
    assert EFFECTS[happening, "resyncing"] == "again"


def test_a_repo_in_error_is_not_hurried_by_what_anybody_can_send() -> None:
    """Nor is it forgotten: the next attempt fetches."""
    assert EFFECTS["commit", "error"] == "wait"
    assert EFFECTS["faulty commit", "error"] == "again"
    assert EFFECTS["unproven change", "error"] == "again"


def test_stored_repos_are_as_they_were() -> None:
    repos = Repos([StoredRepo(ANA, ACTIVE, "key", "https://pds.example")])

    assert (repos[ANA].state, repos[ANA].rev, repos[ANA].data, repos[ANA].key) == (
        "active",
        REV,
        b"tree",
        "key",
    )
    assert list(repos) == [ANA]
    assert not list(repos.out_of_step())


def test_counts_follow_the_states() -> None:
    repos = Repos()
    repos.track(ANA)
    repos.track(ANA)
    assert repos.by_state == {"pending": 1}

    repos.become(ANA, ACTIVE)

    assert +repos.by_state == {"active": 1}


def test_a_mend_that_saw_everything_puts_the_repo_in_step() -> None:
    repos = Repos([StoredRepo(ANA, RepoHead("pending", fetch=True), None, None)])
    repos[ANA].fetch = False

    repos.resynced(ANA, ACTIVE)

    assert repos[ANA].state == "active"


@pytest.mark.parametrize("what", ["waits", "fetch"])
def test_a_mend_that_missed_something_has_to_be_followed_by_another(what: str) -> None:
    repos = Repos([StoredRepo(ANA, RepoHead("pending"), None, None)])
    setattr(repos[ANA], what, True)

    repos.resynced(ANA, ACTIVE)

    assert repos[ANA].state == "resyncing"
    assert repos[ANA].rev == REV
