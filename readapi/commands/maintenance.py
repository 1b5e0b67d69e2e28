"""`check`, `audit` and `rebuild`: checks the index's integrity and its accuracy, and rebuilds it."""

import asyncio
import sys

from indexer import operations
from indexer.control import report as control_report
from readapi.commands.index_errors import explained
from readapi.commands.progress import Progress
from readapi.commands.start import begin
from readapi.commands.supervisor import DAMAGED


def rebuild() -> None:
    """Rebuild the search index from the catalogue, beside the old one, which it replaces when it is complete.

    The indexer must not be running.
    """
    settings = begin("rebuild")
    with Progress("rebuilding", "documents") as progress:
        explained(lambda: operations.rebuild_search(settings, progress))


def check(*, repair: bool = False) -> None:
    """Open all stores, print counts, cursor and lag; exit with 3 when anything is damaged.

    While the indexer runs, its newest snapshot is checked.

    Parameters
    ----------
    repair
        First recount likes and comments, remove rows that belong to no record, and report what was wrong. The
        indexer renders the affected search documents again. Works while the indexer runs.
    """
    settings = begin("check")
    if repair:
        repaired = explained(lambda: asyncio.run(operations.repair_catalogue(settings)))
        print("\n".join(repaired or ("Nothing had to be repaired.",)))
    report = explained(lambda: operations.check_stores(settings))
    print("\n".join(control_report.of_check(report)))
    if report.problems:
        sys.exit(DAMAGED)


def audit() -> None:
    """Compare every repo with its own server now, and fetch those that differ.

    Works while the indexer runs. If repos differ, this takes a minute more: the stream may still deliver the
    change.
    """
    settings = begin("audit")
    outcomes = explained(lambda: asyncio.run(operations.audit_repos(settings)))
    print(control_report.of_audit(outcomes))
