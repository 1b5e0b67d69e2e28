"""Waiting commits -> record changes: replays a repo's commits in order of rev and checks that they chain."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from indexer import faults
from indexer.events import Commit
from indexer.repo import verify
from indexer.repo.changes import RecordChange, RepoHead, changes_of
from indexer.repo.signing_keys import Key
from schemas.ids import Nsid


@dataclass(slots=True)
class Replayed:
    """The result of replaying a repo's waiting commits.

    `mark`: the repo's head afterwards. `refused`: forged or broken commits, each with the reason. `left`:
    commits that do not chain onto the head, or cannot be verified.
    """

    mark: RepoHead
    changes: list[RecordChange] = field(default_factory=list)
    refused: list[tuple[Commit, str]] = field(default_factory=list)
    left: list[Commit] = field(default_factory=list)


def follows_head(commit: Commit, known: RepoHead) -> bool:
    """True when the commit chains onto the known head, with no commit missing between.

    A commit on an empty tree holds the whole repo, so it chains onto any head that has no records.
    """
    before = commit.prev_data or verify.EMPTY_TREE
    if known.rev is None:
        return before == verify.EMPTY_TREE
    return before == known.data and commit.since == known.rev


def replay_commits(
    known: RepoHead, commits: Iterable[Commit], key: Key, collections: frozenset[Nsid], *, loose: bool = False
) -> Replayed:
    """Replay waiting commits onto `known`. `loose`: also apply verified commits that do not chain."""
    replayed = Replayed(known)
    for commit in sorted(commits, key=lambda commit: commit.rev):
        mark = replayed.mark
        if mark.rev is not None and commit.rev <= mark.rev:
            continue
        try:
            head = verify.verify_commit(commit, key)
        except verify.Refused as refused:
            replayed.refused.append((commit, str(refused)))
            continue
        except verify.Unproven:
            replayed.left.append(commit)
            continue
        except BaseException as error:
            if faults.is_fatal(error):
                raise
            replayed.refused.append((commit, faults.record_fault("replay", error)))
            continue
        if not replayed.left and follows_head(commit, mark):
            replayed.mark = RepoHead("active", head.rev, head.data)
        elif not loose:
            replayed.left.append(commit)
            continue
        replayed.changes += changes_of(commit, collections)
    return replayed
