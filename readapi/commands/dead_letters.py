"""`dead-letters`: the messages that could not be used."""

import asyncio
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from indexer import operations
from indexer.catalog.tables.dead_letters import LetterFilter
from indexer.control import dead_letters as letters
from indexer.control import report
from readapi.commands.index_errors import explained
from readapi.commands.progress import Progress
from readapi.commands.start import UNUSABLE, begin, stop
from schemas.settings import Settings


def dead_letters(
    *,
    did: str | None = None,
    reason: str | None = None,
    limit: Annotated[int, Parameter(validator=Number(gte=1))] = 50,
    show: str | None = None,
    replay: bool = False,
) -> None:
    """List the messages that could not be used, newest first.

    Parameters
    ----------
    did
        Only those of this account.
    reason
        Only those refused for a reason with these words in it.
    limit
        List at most so many.
    show
        Print the whole of one, by the name in the first column or its beginning.
    replay
        Apply them again, and remove those that succeed. Works while the indexer runs.
    """
    settings = begin("dead-letters")
    wanted = LetterFilter(did, reason, show)
    if replay:
        _replay(settings, wanted)
    elif show is not None:
        _show(settings, show)
    else:
        listing = explained(lambda: asyncio.run(letters.list_letters(settings, wanted, limit)))
        print("\n".join(report.of_listing(listing)))


def _replay(settings: Settings, wanted: LetterFilter) -> None:
    with Progress("replaying", "dead letters") as progress:
        outcome = explained(lambda: asyncio.run(operations.replay_letters(settings, wanted, progress)))
    print(f"{outcome.passed:,} of {outcome.tried:,} dead letters were replayed successfully and removed.")


def _show(settings: Settings, name: str) -> None:
    letter = explained(lambda: asyncio.run(letters.find_letter(settings, name)))
    if letter is None:
        stop(UNUSABLE, f"There is no dead letter whose name begins with {name}.")
    print("\n".join(report.of_letter(letter)))
