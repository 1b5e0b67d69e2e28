"""Lag is told truly: none while idle, the age of what is committed otherwise, unknown at first."""

from datetime import UTC, datetime, timedelta

import pytest

from indexer.stream import Status
from indexer.stream.lag import Lag

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class World:
    def __init__(self) -> None:
        self.now = NOON
        self.status = Status()
        self.lag = Lag(self.status, lambda: self.now)

    def wait(self, seconds: float, nothing_waits: bool = True) -> None:
        """Let time pass, looking twice a second."""
        for _ in range(int(seconds * 2)):
            self.now += timedelta(seconds=0.5)
            self.lag.look(nothing_waits)

    def frame(self, age: float) -> None:
        """A frame comes, and is committed."""
        self.status.last_frame_at = self.now
        self.lag.committed(self.now - timedelta(seconds=age))
        self.lag.look(nothing_waits=True)


@pytest.fixture
def world() -> World:
    return World()


def test_lag_is_unknown_until_the_source_was_reached(world: World) -> None:
    world.wait(10)

    assert world.lag.seconds() is None


def test_a_connected_source_with_nothing_to_say_means_no_lag(world: World) -> None:
    world.status.connected = True
    world.wait(10)

    assert world.lag.seconds() == 0


def test_an_old_event_does_not_age_while_the_source_is_silent(world: World) -> None:
    """A quiet network is not a late one."""
    world.status.connected = True
    world.frame(age=0)
    world.wait(600)

    assert world.lag.seconds() == 0


def test_catching_up_lags_by_the_age_of_the_last_committed_event(world: World) -> None:
    world.status.connected = True
    world.frame(age=3600)
    world.wait(1)
    world.frame(age=1800)

    assert world.lag.seconds() == 1800


def test_a_slow_writer_shows_as_lag(world: World) -> None:
    """While something waits to be written, silence on the wire proves nothing."""
    world.status.connected = True
    world.frame(age=5)
    world.wait(60, nothing_waits=False)

    assert world.lag.seconds() == 65


def test_lag_grows_from_the_moment_of_disconnection(world: World) -> None:
    world.status.connected = True
    world.frame(age=0)
    world.wait(100)
    world.status.connected = False
    world.wait(30)

    assert world.lag.seconds() == 30


def test_a_reconnected_source_is_late_until_it_has_been_silent(world: World) -> None:
    """Right after a reconnection its backlog may still be on the way."""
    world.status.connected = True
    world.frame(age=0)
    world.wait(100)
    world.status.connected = False
    world.wait(30)
    world.status.connected = True
    world.wait(1)

    assert world.lag.seconds() == 31


def test_a_clock_that_runs_behind_the_relays_gives_no_negative_lag(world: World) -> None:
    world.status.connected = True
    world.frame(age=-3)

    assert world.lag.seconds() == 0
