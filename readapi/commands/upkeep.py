"""`check`, `audit` and `rebuild`: is the index whole, is it true, and make it anew."""

import asyncio
import sys

from indexer import chores, printout
from readapi.commands.on_index import explained
from readapi.commands.start import begin
from readapi.progress import Progress
from readapi.supervisor import DAMAGED


def rebuild() -> None:
    """Drop the search index and make it again from the catalogue. The indexer must not be running."""
    settings = begin("rebuild")
    with Progress("rebuilding", "documents") as progress:
        explained(lambda: chores.rebuild(settings, progress))


def check(*, repair: bool = False) -> None:
    """Open all stores, print counts, cursor and lag; exit with 3 when anything is damaged.

    While the indexer runs, its newest snapshot is looked at.

    Parameters
    ----------
    repair
        First count likes and comments anew, remove rows that belong to no record, and say what was wrong. The
        search documents that show it are made again by the indexer. Works while it runs.
    """
    settings = begin("check")
    if repair:
        repaired = explained(lambda: asyncio.run(chores.repair(settings)))
        print("\n".join(repaired or ("Nothing had to be repaired.",)))
    report = explained(lambda: chores.check(settings))
    print("\n".join(printout.of_check(report)))
    if report.problems:
        sys.exit(DAMAGED)


def audit() -> None:
    """Compare every repo with its own server now, and fetch again those that differ.

    Works while the indexer runs. Takes a minute more when something differs: the stream may be about to tell.
    """
    settings = begin("audit")
    outcomes = explained(lambda: asyncio.run(chores.audit(settings)))
    print(printout.of_audit(outcomes))
