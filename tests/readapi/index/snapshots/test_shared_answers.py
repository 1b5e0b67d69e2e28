"""Answers that clients share, and their bounds."""

import asyncio
from datetime import UTC, datetime

import pytest

from readapi.index.snapshots import shared_answers
from readapi.index.snapshots.messages import FoundRows, Query
from readapi.index.snapshots.shared_answers import Asked, SharedAnswers

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)


class Asking:
    """Answers `rows <n>` with as many rows, and fails where it is asked for less than none."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, query: Query) -> Asked:
        self.asked.append(query.sql)
        return asyncio.ensure_future(self._answer(query))

    async def _answer(self, query: Query) -> FoundRows:
        await asyncio.sleep(0)
        number = int(query.sql)
        if number < 0:
            raise ValueError("refused")
        return FoundRows("1", AS_OF, [(0,)] * number)


@pytest.fixture
def asking() -> Asking:
    return Asking()


async def test_each_is_asked_for_once(asking: Asking) -> None:
    """Also after the client that asked first has hung up."""
    answers = SharedAnswers(asking, 0.0)
    first = asyncio.ensure_future(answers.find(Query("1", {})))
    await asyncio.sleep(0)
    first.cancel()

    found = await asyncio.gather(*(answers.find(Query("1", {})) for _ in range(3)))

    assert [answer.rows for answer in found] == [[(0,)]] * 3
    assert asking.asked == ["1"]
    await answers.find(Query("1", {"n": 1}))
    assert asking.asked == ["1", "1"]


async def test_they_are_bounded_in_number_and_rows(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients choose what is asked."""
    monkeypatch.setattr(shared_answers, "MOST_ANSWERS", 3)
    monkeypatch.setattr(shared_answers, "MOST_ROWS", 10)
    answers = SharedAnswers(asking, 0.0)

    most = 0
    for number in range(7):
        await answers.find(Query("1", {"n": number}))
        most = max(most, len(answers))
    assert most == 3

    answers.clear()
    for number in range(2):
        await answers.find(Query("5", {"n": number}))
    assert len(answers) == 2
    await answers.find(Query("1", {}))
    assert len(answers) == 0
    await answers.find(Query("11", {}))
    assert len(answers) == 0


async def test_what_is_forgotten_does_not_count(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a few that are forgotten would push out all others."""
    monkeypatch.setattr(shared_answers, "MOST_ROWS", 10)
    answers = SharedAnswers(asking, 0.0)
    await answers.find(Query("1", {}))

    for _ in range(20):
        await answers.find(Query("5", {}))
        answers.forget(Query("5", {}))

    assert len(answers) == 1


@pytest.mark.parametrize("seconds", [0.0, 0.05])
async def test_failures_are_remembered_for_as_long_as_is_said(asking: Asking, seconds: float) -> None:
    """So that a query that cannot be answered is not run for each client anew."""
    answers = SharedAnswers(asking, seconds)

    for _ in range(3):
        with pytest.raises(ValueError, match="refused"):
            await answers.find(Query("-1", {}))
    assert len(asking.asked) == (1 if seconds else 3)

    await asyncio.sleep(seconds * 1.2)
    with pytest.raises(ValueError, match="refused"):
        await answers.find(Query("-1", {}))
    assert len(asking.asked) == (2 if seconds else 4)


async def test_the_end_hands_out_nothing_more(asking: Asking) -> None:
    """Clients that wait get their cancellation."""
    answers = SharedAnswers(asking, 0.0)
    waiting = asyncio.ensure_future(answers.find(Query("1", {})))
    await asyncio.sleep(0)

    await answers.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
