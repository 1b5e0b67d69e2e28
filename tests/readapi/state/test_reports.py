"""Reports are kept until they are closed, once each, and not without end."""

import asyncio

import pytest

from readapi.state import reports as table
from readapi.state.reports import NewReport, TooManyReports
from readapi.state.state import State, open_state
from schemas.ids import Did
from schemas.settings import Settings
from tests.readapi.state.people import BEN, MARA


def about(subject: str, by: Did = BEN, reason: str = "reasonSpam") -> NewReport:
    return NewReport(subject, None, reason, "Look at it.", by)


async def test_a_report_is_listed_until_it_is_closed(state: State) -> None:
    """And the same one is not taken twice meanwhile; another reason or reporter is another report."""
    first = await state.reports.add(about(MARA))
    again = await state.reports.add(about(MARA))
    other = await state.reports.add(about(MARA, reason="reasonRude"))
    mara = await state.reports.add(about(MARA, by=MARA))

    assert (first.number, again, other.number, mara.number) == (1, first, 2, 3)
    assert await state.reports.list_open(10) == [first, other, mara]
    assert await state.reports.close(1, "It was none.", "operator")
    assert not await state.reports.close(1, "It was one.", "operator")
    assert await state.reports.list_open(1) == [other]
    assert (await state.reports.add(about(MARA))).number == 4


async def test_numbers_are_given_once_however_many_report_at_once(
    state: State, state_settings: Settings
) -> None:
    async with open_state(state_settings) as other:
        made = await asyncio.gather(
            *((state, other)[number % 2].reports.add(about(f"did:plc:{number}")) for number in range(10))
        )
    assert sorted(report.number for report in made) == list(range(1, 11))


async def test_reports_are_bounded_per_account_and_in_all(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closed ones make room."""
    monkeypatch.setattr(table, "MOST_OPEN_IN_ALL", 3)
    for subject in ("did:plc:a", "did:plc:b"):
        await state.reports.add(about(subject), most=2)
    with pytest.raises(TooManyReports, match="You have 2 reports"):
        await state.reports.add(about("did:plc:c"), most=2)
    await state.reports.add(about("did:plc:c", by=MARA))
    with pytest.raises(TooManyReports, match="too many reports to answer"):
        await state.reports.add(about("did:plc:d", by=MARA))
    await state.reports.close(1, "Done.", "operator")
    assert (await state.reports.add(about("did:plc:d"), most=2)).number == 4
