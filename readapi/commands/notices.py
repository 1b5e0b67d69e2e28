"""`notices`: lists notices of infringement, and decides about them."""

from typing import Annotated

import cyclopts
import orjson
from cyclopts.validators import Number

from readapi.commands.start import FAILED, stop
from readapi.commands.with_state import read_reason, run_with_state
from readapi.state import takedown_decisions
from readapi.state.deciding_notices import decide_notice
from readapi.state.notices import NotDecided, Notice
from readapi.state.state import State
from schemas import datetimes
from schemas import notices as states
from schemas.settings import Settings

notices = cyclopts.App(name="notices", help="List notices of infringement, and decide them.")


@notices.default
def list_notices(
    *,
    limit: Annotated[int, cyclopts.Parameter(validator=Number(gte=1))] = 100,
    every: Annotated[bool, cyclopts.Parameter(name="--all")] = False,
) -> None:
    """Print the notices that wait for a decision as lines of JSON, the oldest first.

    Parameters
    ----------
    limit
        Print at most so many.
    every
        Print decided ones too.
    """

    async def listed(_: Settings, state: State) -> None:
        for notice in await state.notices.list_notices(limit, only_open=not every):
            print(orjson.dumps(_as_json(notice)).decode())

    run_with_state("notices", listed)


@notices.command
def decide(
    number: int,
    decided: states.State,
    *,
    note: str,
    decided_by: Annotated[str | None, cyclopts.Parameter(name="--by")] = None,
) -> None:
    """Decide about a notice: acted_on takes its subject down, restored restores it.

    Parameters
    ----------
    number
        The notice's number, as `notices` prints it.
    decided
        The new state: acted_on, rejected or restored; the other two follow from what others do.
    note
        Why, in a sentence. The account that it concerns reads it.
    decided_by
        Who decides; default: the name of the user that runs this command.
    """
    why, by = read_reason(note, decided_by)

    async def done(settings: Settings, state: State) -> None:
        try:
            await decide_notice(state, number, decided, why, by, settings.base_url)
        except (NotDecided, takedown_decisions.NotDecided) as error:
            stop(FAILED, str(error))
        print(f"Notice {number} is {decided}.")

    run_with_state("notices", done)


def _as_json(notice: Notice) -> dict[str, object]:
    return {
        "number": notice.number,
        "state": notice.state,
        "subject": notice.subject,
        "claim": notice.claim,
        "counter": notice.counter,
        "sent_by": notice.sent_by,
        "created_at": datetimes.render(notice.created_at),
        "changed_at": datetimes.render(notice.changed_at),
    }
