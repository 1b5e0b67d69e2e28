"""Requests that arrive together are answered together, one stage of all of them after the other.

The code that answers one request does not fit into a core's second-level cache, while that of a stage does.
One after another, requests would each load all of it again, which takes longer than to run it. See "cohort
scheduling": Larus and Parkes, USENIX 2002.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from readapi.http.eager import Paused

Result = TypeVar("Result")
Running: TypeAlias = Coroutine[Any, Any, Result]
Outcome: TypeAlias = Result | Paused[Result] | BaseException

TURN_SECONDS: Final = 0.005  # after which the event loop sends, reads, and goes on here
_STAGE: Final = object()


class _Turn(threading.local):
    """Whether a cohort runs in this thread, so that no task does. To ask for that costs ten times as much."""

    is_running = False


_turn = _Turn()


@coroutine
def next_stage() -> Generator[object, None, None]:
    """Let the other requests of the cohort come this far. In a task, return at once."""
    if _turn.is_running:
        yield _STAGE


class Member(Protocol[Result]):
    """A connection on which a request has arrived."""

    @property
    def is_lost(self) -> bool:
        """Whether the client has disconnected, so that there is no one to answer."""

    def begin(self) -> Running[Result] | None:
        """The coroutine that answers the request; None when it is not for the cohort to run."""

    def end(self, outcome: Outcome[Result]) -> None:
        """Send the result. Of a coroutine that waits, or that has raised, take over the rest."""

    def abort(self) -> None:
        """Close the connection: its own code has failed."""


_Group: TypeAlias = deque[tuple[Member[Result], Running[Result]]]


class Cohort(Generic[Result]):
    """The requests of one event loop that are answered without a task, in groups that have come equally far.

    Those that have come furthest go first. After TURN_SECONDS the rest is left to the next turn of the
    loop, which sends what is written: those that arrived after a request hold it up for that long and one
    stage more.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._arrived: list[Member[Result]] = []
        self._groups: list[_Group[Result]] = []  # the last has come furthest
        self._is_scheduled = False

    def add(self, member: Member[Result]) -> None:
        """Begin and answer this member's request when all sockets are read that can be."""
        self._arrived.append(member)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._run)

    def _run(self) -> None:
        self._is_scheduled = False
        if self._groups:
            self._groups[-1] = _without_lost(self._groups[-1])
        arrived, self._arrived = self._arrived, []
        begun: _Group[Result] = deque()
        for member in arrived:
            try:
                running = member.begin()
            except Exception as error:  # noqa: BLE001  # reported
                self._end_failed(member, error)
            else:
                if running is not None:
                    begun.append((member, running))
        if begun:
            self._groups.insert(0, begun)
        _turn.is_running = True
        try:
            ended = self._advance(time.perf_counter() + TURN_SECONDS)
        finally:
            _turn.is_running = False
        for member, outcome in ended:
            try:
                member.end(outcome)
            except Exception as error:  # noqa: BLE001  # reported
                self._end_failed(member, error)
        if self._groups:
            self._schedule()

    def _end_failed(self, member: Member[Result], error: Exception) -> None:
        """What fails in the code of one connection ends that connection, and none beside it."""
        self._loop.call_exception_handler({"message": "a connection failed", "exception": error})
        member.abort()

    def _advance(self, until: float) -> list[tuple[Member[Result], Outcome[Result]]]:
        """Take the furthest group from stage to stage, up to a time. Returns the requests that have ended."""
        groups = self._groups
        ended: list[tuple[Member[Result], Outcome[Result]]] = []
        is_time = True
        while groups and is_time:
            group = groups[-1]
            ahead: _Group[Result] = deque()
            while group and is_time:
                member, running = group.popleft()
                try:
                    wait = running.send(None)
                except StopIteration as done:
                    ended.append((member, done.value))
                except (KeyboardInterrupt, SystemExit):
                    raise
                except BaseException as error:  # noqa: BLE001  # raised again in this request's own task
                    ended.append((member, error))
                else:
                    if wait is _STAGE:
                        ahead.append((member, running))
                    else:
                        ended.append((member, Paused(running, wait)))
                is_time = time.perf_counter() < until
            if not group:
                groups.pop()
            if not ahead:
                break  # their responses are sent before the next group goes on
            groups.append(ahead)
        return ended


def _without_lost(group: _Group[Result]) -> _Group[Result]:
    """Those whose client has not gone since the last turn of the event loop; the others are ended."""
    waiting: _Group[Result] = deque()
    for member, running in group:
        if member.is_lost:
            running.close()
        else:
            waiting.append((member, running))
    return waiting
