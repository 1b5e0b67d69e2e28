"""`takedown`: takes accounts, records, recordings and pictures down, restores them, and prints decisions."""

from typing import Annotated

import cyclopts
import orjson

from readapi.commands.start import FAILED, UNUSABLE, stop
from readapi.commands.with_state import read_reason, run_with_state
from readapi.state.state import State
from readapi.state.takedown_decisions import Decision, NotDecided
from schemas import datetimes
from schemas.settings import Settings
from schemas.takedowns import Action, open_table, read_subject

takedown = cyclopts.App(
    name="takedown",
    help="Take an account, a record, a recording or a picture down; restore it; "
    "list takedowns and decisions.",
)

Reason = Annotated[str, cyclopts.Parameter(name="--reason")]
DecidedBy = Annotated[str | None, cyclopts.Parameter(name="--by")]


@takedown.default
def take_down(subject: str, *, reason: Reason, decided_by: DecidedBy = None) -> None:
    """Take a subject down: on every worker and node within a second, until it is restored.

    Parameters
    ----------
    subject
        A DID, the at-uri of a record (by its account's DID), or the CID of a recording or picture.
    reason
        Why, in a sentence. The account that it concerns reads it.
    decided_by
        Who decides; default: the name of the user that runs this command.
    """
    _decide(subject, "takedown", reason, decided_by)


@takedown.command
def restore(subject: str, *, reason: Reason, decided_by: DecidedBy = None) -> None:
    """Restore a subject that is taken down.

    Parameters
    ----------
    subject
        As it was taken down: `takedown list` prints it.
    reason
        Why, in a sentence.
    decided_by
        Who decides; default: the name of the user that runs this command.
    """
    _decide(subject, "restore", reason, decided_by)


@takedown.command(name="list")
def list_standing() -> None:
    """List what is taken down now, with reasons."""

    async def standing(settings: Settings, _: State) -> None:
        async with open_table(settings) as table:
            for subject, reason, since in await table.standing():
                print(f"{subject} since {datetimes.render(since)}: {reason}")

    run_with_state("takedown", standing)


@takedown.command(name="log")
def print_log() -> None:
    """Print every decision ever made as a line of JSON, the first one first: a transparency report."""

    async def printed(_: Settings, state: State) -> None:
        async for decision in state.takedown_decisions.log():
            print(orjson.dumps(_as_json(decision)).decode())

    run_with_state("takedown", printed)


def _decide(text: str, action: Action, reason: str, decided_by: str | None) -> None:
    try:
        subject = read_subject(text)
    except ValueError as error:
        stop(UNUSABLE, str(error))
    why, by = read_reason(reason, decided_by)

    async def decided(_: Settings, state: State) -> None:
        try:
            decision = await state.takedown_decisions.decide(subject, action, why, by)
        except NotDecided as error:
            stop(FAILED, str(error))
        done = "taken down" if action == "takedown" else "restored"
        print(f"{subject} is {done} (decision {decision.number}).")

    run_with_state("takedown", decided)


def _as_json(decision: Decision) -> dict[str, object]:
    return {
        "number": decision.number,
        "subject": decision.subject,
        "action": decision.action,
        "reason": decision.reason,
        "decided_by": decision.decided_by,
        "decided_at": datetimes.render(decision.decided_at),
    }
