"""Requests that arrived together: their order, stage by stage, and that none holds up or ends another."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from readapi.http import cohort
from readapi.http.cohort import Cohort, Outcome, next_stage
from readapi.http.eager import Paused


class Request:
    """A member of a cohort, which writes into a list what happens to it."""

    def __init__(
        self, name: str, happened: list[str], last: Callable[[], Coroutine[Any, Any, object]]
    ) -> None:
        self.name = name
        self.is_lost = False
        self.was_aborted = False
        self.fails_in = ""
        self.outcome: Outcome[str] | None = None
        self._happened = happened
        self._last = last

    def begin(self) -> Coroutine[Any, Any, str]:
        if self.fails_in == "begin":
            raise ValueError("the cause")
        return self._run()

    def abort(self) -> None:
        self.was_aborted = True

    def end(self, outcome: Outcome[str]) -> None:
        if self.fails_in == "end":
            raise ValueError("the cause")
        self.outcome = outcome
        self._happened.append(f"{self.name} sent")

    async def _run(self) -> str:
        self._happened.append(f"{self.name} 1")
        await next_stage()
        self._happened.append(f"{self.name} 2")
        await self._last()
        await next_stage()
        self._happened.append(f"{self.name} 3")
        return self.name


async def nothing() -> None:
    """Wait for nothing."""


async def slow() -> None:
    """Take longer than a stage may."""
    until = time.perf_counter() + 2 * cohort.TURN_SECONDS
    while time.perf_counter() < until:
        pass


async def fail() -> None:
    raise ValueError("the cause")


async def panic() -> None:
    raise BaseException("of a library in another language")


async def never() -> None:
    await asyncio.get_running_loop().create_future()


async def ran(*lasts: Callable[[], Coroutine[Any, Any, object]]) -> tuple[list[str], list[Request]]:
    """Run requests a, b, c … together, each with its own second stage."""
    happened: list[str] = []
    requests = [Request(name, happened, last) for name, last in zip("abcdef", lasts, strict=False)]
    together: Cohort[str] = Cohort(asyncio.get_running_loop())
    for request in requests:
        together.add(request)
    assert happened == []
    for _ in range(20):  # turns of the event loop
        await asyncio.sleep(0)
    return happened, requests


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a slow machine does not end a turn."""
    monkeypatch.setattr(cohort, "TURN_SECONDS", 0.05)


async def test_each_stage_is_run_for_all_before_the_next() -> None:
    happened, requests = await ran(nothing, nothing)
    assert happened == ["a 1", "b 1", "a 2", "b 2", "a 3", "b 3", "a sent", "b sent"]
    assert [request.outcome for request in requests] == ["a", "b"]


async def test_those_that_are_ahead_of_a_long_one_are_answered_before_it() -> None:
    happened, _ = await ran(nothing, slow, slow, nothing)
    assert happened[:4] == ["a 1", "b 1", "c 1", "d 1"]
    assert happened[4:10] == ["a 2", "b 2", "a 3", "b 3", "a sent", "b sent"]
    assert happened[10:] == ["c 2", "c 3", "c sent", "d 2", "d 3", "d sent"]


@pytest.mark.parametrize("failure", [fail, panic])
async def test_a_failure_is_one_request_alone(failure: Callable[[], Coroutine[Any, Any, object]]) -> None:
    _, (first, failed, last) = await ran(nothing, failure, nothing)
    assert (first.outcome, last.outcome) == ("a", "c")
    assert isinstance(failed.outcome, BaseException)


@pytest.mark.parametrize("where", ["begin", "end"])
async def test_a_failure_of_a_connection_ends_that_one_alone(where: str) -> None:
    happened: list[str] = []
    loop = asyncio.get_running_loop()
    reported: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: reported.append(context))
    first, failed, last = [Request(name, happened, nothing) for name in "abc"]
    failed.fails_in = where
    together: Cohort[str] = Cohort(loop)
    for request in (first, failed, last):
        together.add(request)
    for _ in range(5):
        await asyncio.sleep(0)
    assert (first.outcome, last.outcome) == ("a", "c")
    assert [request.was_aborted for request in (first, failed, last)] == [False, True, False]
    assert len(reported) == 1


async def test_requests_that_arrive_meanwhile_come_after_those_that_have_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cohort, "TURN_SECONDS", 0.0)
    happened: list[str] = []
    together: Cohort[str] = Cohort(asyncio.get_running_loop())
    for name in "ab":
        together.add(Request(name, happened, nothing))
    await asyncio.sleep(0)
    for name in "cd":
        together.add(Request(name, happened, nothing))
    for _ in range(30):
        await asyncio.sleep(0)
    assert [step for step in happened if step.endswith("sent")] == ["a sent", "b sent", "c sent", "d sent"]
    assert happened.index("b sent") < happened.index("c 1")


async def test_a_request_whose_client_has_gone_is_ended_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cohort, "TURN_SECONDS", 0.0)
    happened: list[str] = []
    gone, stays = Request("a", happened, nothing), Request("b", happened, nothing)
    together: Cohort[str] = Cohort(asyncio.get_running_loop())
    together.add(gone)
    together.add(stays)
    await asyncio.sleep(0)
    gone.is_lost = True
    for _ in range(10):
        await asyncio.sleep(0)
    assert happened == ["a 1", "b 1", "b 2", "b 3", "b sent"]


async def test_what_waits_is_handed_over_and_the_others_go_on() -> None:
    _, (first, waits, last) = await ran(nothing, never, nothing)
    assert (first.outcome, last.outcome) == ("a", "c")
    assert isinstance(waits.outcome, Paused)


async def test_a_request_that_is_added_while_others_are_answered_is_answered_in_the_next_turn() -> None:
    happened: list[str] = []
    together: Cohort[str] = Cohort(asyncio.get_running_loop())
    second = Request("b", happened, nothing)

    async def add() -> None:
        together.add(second)

    together.add(Request("a", happened, add))
    await asyncio.sleep(0)
    assert happened == ["a 1", "a 2", "a 3", "a sent"]
    await asyncio.sleep(0)
    assert second.outcome == "b"


async def test_a_task_has_no_stages() -> None:
    """And what has waited goes on in a task, past all that are left."""
    _, (request,) = await ran(lambda: asyncio.sleep(0))
    assert isinstance(request.outcome, Paused)
    assert await request.outcome == "a"
