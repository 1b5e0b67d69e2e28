"""`label`: gives accounts and records the operator's labels, negates labels, and prints the decisions."""

from typing import Annotated

import cyclopts
import orjson

from readapi.commands.start import FAILED, UNUSABLE, stop
from readapi.commands.with_state import read_reason, run_with_state
from readapi.state.label_decisions import LabelDecision, NewLabel
from readapi.state.state import State
from readapi.state.takedown_decisions import NotDecided
from schemas import datetimes
from schemas.labels import check_value, open_labels, read_subject
from schemas.service_identity import service_did
from schemas.settings import Settings

label = cyclopts.App(name="label", help="Label accounts and records; list labels and decisions.")


@label.default
def give_label(
    subject: str,
    value: str,
    *,
    reason: str,
    negate: bool = False,
    expires: str | None = None,
    decided_by: Annotated[str | None, cyclopts.Parameter(name="--by")] = None,
) -> None:
    """Give an account or a record a label; docs/moderation.md says what follows from which.

    Parameters
    ----------
    subject
        A DID, or the at-uri of a record (by its account's DID).
    value
        The label's value, such as porn, copyright or !hide.
    reason
        Why, in a sentence.
    negate
        Withdraw this label, and let no labeler's label of this value have an effect on the subject.
    expires
        When the label ends, such as 2027-01-31T12:00:00Z; default: never.
    decided_by
        Who decides; default: the name of the user that runs this command.
    """
    why, by = read_reason(reason, decided_by)
    try:
        until = None if expires is None else datetimes.parse_datetime(expires)
        new = NewLabel(read_subject(subject), check_value(value), negate, until, why, by)
    except ValueError as error:
        stop(UNUSABLE, f"The label is not understood: {error}")

    async def decided(_: Settings, state: State) -> None:
        try:
            decision = await state.label_decisions.decide(new)
        except NotDecided as error:
            stop(FAILED, str(error))
        verb = "has no label" if negate else "has the label"
        print(f"{new.subject} {verb} {new.value} (decision {decision.number}).")

    run_with_state("label", decided)


@label.command(name="list")
def list_labels() -> None:
    """List the operator's labels that stand."""

    async def listed(settings: Settings, state: State) -> None:
        async with open_labels(settings, service_did(settings.base_url)) as table:
            for one in await table.standing():
                if one.stands(state.database.now()):
                    until = "" if one.expires_at is None else f" until {datetimes.render(one.expires_at)}"
                    print(f"{one.subject} {one.value} since {datetimes.render(one.cts)}{until}")

    run_with_state("label", listed)


@label.command(name="log")
def print_log() -> None:
    """Print every decision ever made as a line of JSON, the first one first."""

    async def printed(_: Settings, state: State) -> None:
        async for decision in state.label_decisions.log():
            print(orjson.dumps(as_json(decision)).decode())

    run_with_state("label", printed)


def as_json(decision: LabelDecision) -> dict[str, object]:
    """A decision as the log shows it."""
    expires = decision.expires_at
    return {
        "number": decision.number,
        "subject": decision.subject,
        "value": decision.value,
        "negated": decision.negated,
        "expires_at": expires and datetimes.render(expires),
        "reason": decision.reason,
        "decided_by": decision.decided_by,
        "decided_at": datetimes.render(decision.decided_at),
    }
