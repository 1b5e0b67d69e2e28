"""Commits -> record changes, one commit after another, each proven to follow from the one before."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from indexer import faults, verify
from indexer.batch import RecordChange, RepoMark
from indexer.changes import changes_of
from indexer.events import Commit
from indexer.keys import Key
from schemas.ids import Nsid


@dataclass(slots=True)
class Replayed:
    """What a row of waiting commits came to.

    `mark`: how far they lead. `refused`: those that are forged or broken, with why. `left`: those that do not
    follow from what is known.
    """

    mark: RepoMark
    changes: list[RecordChange] = field(default_factory=list)
    refused: list[tuple[Commit, str]] = field(default_factory=list)
    left: list[Commit] = field(default_factory=list)


def follows(commit: Commit, known: RepoMark) -> bool:
    """Does it follow from the commit that we know, so that nothing lies between?

    A commit on an empty tree tells all that a repo holds: it follows from anything that has no records.
    """
    before = commit.prev_data or verify.EMPTY_TREE
    if known.rev is None:
        return before == verify.EMPTY_TREE
    return before == known.data and commit.since == known.rev


def replay(
    known: RepoMark, commits: Iterable[Commit], key: Key, collections: frozenset[Nsid], *, loose: bool = False
) -> Replayed:
    """Apply what waited. `loose`: also what does not follow, as long as it is proven by itself."""
    replayed = Replayed(known)
    for commit in sorted(commits, key=lambda commit: commit.rev):
        mark = replayed.mark
        if mark.rev is not None and commit.rev <= mark.rev:
            continue
        try:
            head = verify.commit(commit, key)
        except verify.Refused as refused:
            replayed.refused.append((commit, str(refused)))
            continue
        except verify.Unproven:
            replayed.left.append(commit)
            continue
        except BaseException as error:
            if faults.is_fatal(error):
                raise
            replayed.refused.append((commit, faults.reason("replay", error)))
            continue
        if not replayed.left and follows(commit, mark):
            replayed.mark = RepoMark("active", head.rev, head.data)
        elif not loose:
            replayed.left.append(commit)
            continue
        replayed.changes += changes_of(commit, collections)
    return replayed
