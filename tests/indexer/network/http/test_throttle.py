"""Servers are visited a few at a time, are left alone when they ask for it, and do not hold each other up."""

import asyncio
import heapq

import pytest

from indexer.network.http import throttle
from indexer.network.http.client import Answered, NotNow, Unreachable
from indexer.network.http.throttle import HostTurns

FAST, SLOW = "https://fast.example.com", "https://slow.example.com"
OWN = "https://plc.example.com"


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Visitors:
    """Tasks that each take a turn, and stay until `leave`."""

    def __init__(self, turns: HostTurns) -> None:
        self.inside: list[str] = []
        self._turns = turns
        self._doors: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, name: str, url: str, *, urgent: bool = False) -> None:
        self._doors[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._visit(name, url, urgent))
        await asyncio.sleep(0)

    async def leave(self, name: str) -> None:
        self._doors[name].set()
        await self._tasks.pop(name)
        await asyncio.sleep(0)

    async def give_up(self, name: str) -> None:
        self._tasks[name].cancel()
        await asyncio.gather(self._tasks.pop(name), return_exceptions=True)
        await asyncio.sleep(0)

    async def all_leave(self) -> None:
        for door in self._doors.values():
            door.set()
        await asyncio.gather(*self._tasks.values())

    async def _visit(self, name: str, url: str, urgent: bool) -> None:
        async with self._turns.turn(url, urgent=urgent):
            self.inside.append(name)
            await self._doors[name].wait()
        self.inside.remove(name)


async def test_a_server_is_asked_two_things_at_a_time() -> None:
    """In the order of asking; another server is another line."""
    visitors = Visitors(HostTurns())
    for name in "abc":
        await visitors.come(name, SLOW)
    await visitors.come("d", FAST)

    assert visitors.inside == ["a", "b", "d"]

    await visitors.leave("b")
    assert visitors.inside == ["a", "d", "c"]
    await visitors.all_leave()


async def test_servers_of_our_own_choice_have_more_lanes() -> None:
    visitors = Visitors(HostTurns([OWN]))
    for number in range(10):
        await visitors.come(f"own {number}", OWN)
        await visitors.come(f"loopback {number}", "http://localhost:2583")

    assert len(visitors.inside) == 16
    await visitors.all_leave()


async def test_what_is_urgent_goes_first() -> None:
    visitors = Visitors(HostTurns())
    for name in "abcd":
        await visitors.come(name, SLOW)
    await visitors.come("urgent", SLOW, urgent=True)

    await visitors.leave("a")

    assert visitors.inside == ["b", "urgent"]
    await visitors.all_leave()


async def test_who_gives_up_waiting_leaves_no_gap() -> None:
    visitors = Visitors(HostTurns())
    for name in "abcd":
        await visitors.come(name, SLOW)

    await visitors.give_up("c")
    await visitors.leave("a")

    assert visitors.inside == ["b", "d"]
    await visitors.all_leave()


async def test_a_long_line_sends_people_away() -> None:
    """They are told to come back no faster than they can be served, so workers are free for other hosts."""
    clock = Clock()
    turns = HostTurns(clock=clock)
    visitors = Visitors(turns)
    for number in range(throttle.LANES + throttle.LONGEST_LINE):
        await visitors.come(f"{number}", SLOW)

    told = []
    for _ in range(4):
        with pytest.raises(NotNow) as sent_away:
            async with turns.turn(SLOW):
                pass
        told.append(sent_away.value.retry_after)
    async with turns.turn(FAST):
        pass

    assert told == pytest.approx([0.4, 0.45, 0.5, 0.55])
    assert sent_away.value.transient
    await visitors.all_leave()


async def test_a_domain_of_slow_hosts_leaves_most_workers_free() -> None:
    """However many hosts it has: few are inside, few wait, and the rest are told to come back."""
    turns, inside = HostTurns(clock=Clock()), 0
    leave = asyncio.Event()

    async def visit(number: int) -> None:
        nonlocal inside
        async with turns.turn(f"https://h{number % 100}.slow.example.com"):
            inside += 1
            await leave.wait()

    visits = [asyncio.create_task(visit(number)) for number in range(1000)]
    for _ in range(10):
        await asyncio.sleep(0)
    held = [task for task in visits if not task.done()]
    async with turns.turn("https://pds.elsewhere.example.org"):
        pass

    assert inside == throttle.LANES_OF_A_SITE
    assert len(held) <= throttle.LANES_OF_A_SITE + throttle.MOST_WAITING
    leave.set()
    told = await asyncio.gather(*visits, return_exceptions=True)
    assert {type(error) for error in told} == {NotNow, type(None)}


class Crowd:
    """Visitors of one server who stay a second each, and come back when they were told to."""

    def __init__(self, count: int) -> None:
        self.served = 0
        self._clock = Clock()
        self._turns = HostTurns(clock=self._clock)
        self._second = asyncio.Event()
        self._coming = [(0.0, number) for number in range(count)]

    async def pass_time(self, seconds: int) -> None:
        async with asyncio.TaskGroup() as visits:
            for _ in range(seconds):
                self._clock.now += 1
                self._second.set()
                self._second.clear()
                while self._coming and self._coming[0][0] <= self._clock.now:
                    _, number = heapq.heappop(self._coming)
                    visits.create_task(self._visit(number))
                for _ in range(4):
                    await asyncio.sleep(0)
            self._second.set()

    async def _visit(self, number: int) -> None:
        try:
            async with self._turns.turn(SLOW):
                await self._second.wait()
            self.served += 1
        except NotNow as told:
            heapq.heappush(self._coming, (self._clock.now + told.retry_after, number))


async def test_a_crowd_is_served_without_a_break() -> None:
    """However many more than the longest pause has turns for."""
    crowd = Crowd(10_000)

    await crowd.pass_time(3600)
    assert crowd.served > 0.95 * 3600 * throttle.LANES
    await crowd.pass_time(1800)
    assert crowd.served == 10_000


async def refused(turns: HostTurns, status: int, retry_after: float | None = None) -> None:
    with pytest.raises(Answered):
        async with turns.turn(SLOW):
            raise Answered(status, b"", retry_after)


async def pause_of(turns: HostTurns) -> float:
    """How long the server is to be left alone."""
    try:
        async with turns.turn(SLOW):
            return 0.0
    except NotNow as sent_away:
        return sent_away.retry_after


async def test_a_server_that_says_when_is_left_alone_until_then() -> None:
    clock = Clock()
    turns = HostTurns(clock=clock)

    await refused(turns, 429, 60)
    assert await pause_of(turns) == 60
    clock.now += 50
    assert await pause_of(turns) == 10
    clock.now += 10
    assert await pause_of(turns) == 0


async def test_a_server_that_does_not_say_when_is_left_alone_longer_each_time() -> None:
    clock = Clock()
    turns = HostTurns(clock=clock)
    pauses = []
    for _ in range(10):
        await refused(turns, 429)
        pauses.append(await pause_of(turns))
        clock.now += pauses[-1]

    assert pauses[:3] == [30, 60, 120]
    assert pauses[-1] == 3600

    assert await pause_of(turns) == 0
    await refused(turns, 429)
    assert await pause_of(turns) == 30


async def test_only_so_much_is_obeyed() -> None:
    """A server cannot have itself forgotten."""
    turns = HostTurns(clock=Clock())

    await refused(turns, 503, 1e12)

    assert await pause_of(turns) == throttle.BACKOFF.longest_seconds


@pytest.mark.parametrize("error", [Answered(500, b""), Answered(404, b""), Unreachable("x")])
async def test_other_failures_are_no_wish_for_a_pause(error: Exception) -> None:
    turns = HostTurns(clock=Clock())
    with pytest.raises(type(error)):
        async with turns.turn(SLOW):
            raise error

    assert await pause_of(turns) == 0


async def test_a_short_pause_is_waited_for() -> None:
    turns = HostTurns()
    started = asyncio.get_running_loop().time()

    await refused(turns, 429, 0.05)
    async with turns.turn(SLOW):
        pass

    assert asyncio.get_running_loop().time() - started >= 0.05


async def test_strangers_cannot_fill_the_memory_with_names() -> None:
    turns = HostTurns(clock=Clock())
    await refused(turns, 429, 60)
    for number in range(throttle.REMEMBERED + 10):
        async with turns.turn(f"https://{number}.example.com"):
            pass

    assert len(turns._hosts) <= throttle.REMEMBERED
    assert await pause_of(turns) == 60
