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
    answers = SharedAnswers(asking)
    first = asyncio.ensure_future(answers.find(Query("1", {})))
    await asyncio.sleep(0)
    first.cancel()

    found = await asyncio.gather(*(answers.find(Query("1", {})) for _ in range(3)))

    assert [answer.rows for answer in found] == [[(0,)]] * 3
    assert asking.asked == ["1"]
    await answers.find(Query("1", {"n": 1}))
    assert asking.asked == ["1", "1"]


async def test_they_are_bounded_in_number_and_rows(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients choose what is asked: the oldest make room."""
    monkeypatch.setattr(shared_answers, "MOST_ANSWERS", 3)
    monkeypatch.setattr(shared_answers, "MOST_ROWS", 10)
    answers = SharedAnswers(asking)

    for number in range(7):
        await answers.find(Query("1", {"n": number}))
        assert len(answers) == min(number + 1, 3)
    await answers.find(Query("1", {"n": 4}))
    assert len(asking.asked) == 7

    answers.clear()
    for number in range(3):
        await answers.find(Query("5", {"n": number}))
        assert len(answers) == min(number + 1, 2)
    await answers.find(Query("10", {}))
    assert len(answers) == 1
    await answers.find(Query("11", {}))
    assert len(answers) == 0
    await answers.find(Query("10", {}))
    assert len(answers) == 1


async def test_what_is_not_to_be_kept_goes_to_those_that_wait(asking: Asking) -> None:
    """And to no other client, also where all of them have hung up."""
    answers = SharedAnswers(asking, is_kept=lambda found: len(found.rows) != 2)
    waiting = [asyncio.ensure_future(answers.find(Query("2", {}))) for _ in range(2)]
    assert [len(found.rows) for found in await asyncio.gather(*waiting)] == [2, 2]
    gone = asyncio.ensure_future(answers.find(Query("2", {})))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0.01)

    assert len(answers) == 0
    assert asking.asked == ["2", "2"]


async def test_an_answer_that_comes_late_does_not_push_out_the_newer(asking: Asking) -> None:
    """It was asked before `clear`, the same query again after it."""
    answers = SharedAnswers(asking, is_kept=lambda found: len(asking.asked) > 1)
    late = asyncio.ensure_future(answers.find(Query("1", {})))
    await asyncio.sleep(0)
    answers.clear()
    newer = asyncio.ensure_future(answers.find(Query("1", {})))

    await asyncio.gather(late, newer)
    await answers.find(Query("1", {}))

    assert asking.asked == ["1", "1"]


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
    answers = SharedAnswers(asking)
    waiting = asyncio.ensure_future(answers.find(Query("1", {})))
    await asyncio.sleep(0)

    await answers.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
