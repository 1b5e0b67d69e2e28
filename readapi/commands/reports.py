"""`reports`: lists what people have reported, and closes reports."""

from typing import Annotated

import cyclopts
import orjson
from cyclopts.validators import Number

from readapi.commands.operator import user_name
from readapi.commands.start import FAILED, UNUSABLE, stop
from readapi.commands.with_state import run_with_state
from readapi.state.reports import Report
from readapi.state.state import State
from schemas import datetimes
from schemas.reports import MOST_TEXT, REASON_PREFIX
from schemas.settings import Settings

reports = cyclopts.App(name="reports", help="List reports, and close them with a note.")


@reports.default
def list_reports(
    *, limit: Annotated[int, cyclopts.Parameter(validator=Number(gte=1))] = 100, json: bool = False
) -> None:
    """List the open reports, the oldest first.

    Parameters
    ----------
    limit
        List at most so many.
    json
        Print each as a line of JSON.
    """

    async def listed(_: Settings, state: State) -> None:
        for report in await state.reports.list_open(limit):
            print(orjson.dumps(_as_json(report)).decode() if json else _line(report))

    run_with_state("reports", listed)


@reports.command
def close(
    number: int, *, note: str, decided_by: Annotated[str | None, cyclopts.Parameter(name="--by")] = None
) -> None:
    """Close a report, whatever was done about it.

    Parameters
    ----------
    number
        The first column of the listing.
    note
        What was decided, in a sentence.
    decided_by
        Who decided; default: the name of the user that runs this command.
    """
    note, by = note.strip(), (decided_by or user_name()).strip()
    if not 0 < len(note) <= MOST_TEXT or not 0 < len(by) <= MOST_TEXT:
        stop(UNUSABLE, f"The note, and who decides, have 1 to {MOST_TEXT:,} characters.")

    async def closed(_: Settings, state: State) -> None:
        if not await state.reports.close(number, note, by):
            stop(FAILED, f"There is no open report {number}.")
        print(f"Report {number} is closed.")

    run_with_state("reports", closed)


def _line(report: Report) -> str:
    # A reason is a stranger's text: repr() keeps it on its line, without control characters.
    return (
        f"{report.number} {datetimes.render(report.created_at)} {report.subject} "
        f"{report.reason_type.removeprefix(REASON_PREFIX)} by {report.reported_by} {report.reason!r}"
    )


def _as_json(report: Report) -> dict[str, object]:
    return {
        "number": report.number,
        "subject": report.subject,
        "subject_cid": report.subject_cid,
        "reason_type": report.reason_type,
        "reason": report.reason,
        "reported_by": report.reported_by,
        "created_at": datetimes.render(report.created_at),
    }
