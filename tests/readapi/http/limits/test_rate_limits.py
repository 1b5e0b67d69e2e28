"""The rate limit: an exact moving window for each client."""

import pytest

from readapi.http.limits.rate_limits import Limiter, Rate, RateLimits
from schemas.settings import Settings


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def limiter(count: int = 2, seconds: int = 60) -> tuple[Limiter, Clock]:
    clock = Clock()
    return Limiter(Rate(count, seconds), clock), clock


def test_the_setting_is_read():
    """`5/hour` is five within 3600 seconds."""
    assert Rate.read("5/hour") == Rate(5, 3600)


def test_no_window_of_the_length_holds_more_than_the_count():
    """A request is allowed as soon as the one that was too near is old enough, and not before."""
    limit, clock = limiter()

    first = limit.hit("a")
    clock.now += 30
    second = limit.hit("a")
    clock.now += 29.5
    refused = limit.hit("a")
    clock.now += 0.5
    third = limit.hit("a")
    clock.now += 29
    refused_again = limit.hit("a")

    assert [first.allowed, second.allowed, third.allowed] == [True, True, True]
    assert [refused.allowed, refused_again.allowed] == [False, False]
    assert (first.remaining, second.remaining, refused.remaining) == (1, 0, 0)
    assert refused.reset_seconds == 1
    assert "Retry-After: 1\r\n" in refused.lines()


def test_clients_do_not_share_a_window():
    """One client's greed is not another's trouble."""
    limit, _ = limiter(count=1)

    assert limit.hit("a").allowed
    assert limit.hit("b").allowed
    assert not limit.hit("a").allowed
    assert limit.refused == 1


def test_silent_clients_are_forgotten():
    """Memory holds those who asked within the last two windows."""
    limit, clock = limiter()
    for number in range(1000):
        limit.hit(str(number))

    clock.now += 61
    limit.hit("late")

    assert list(limit._windows) == ["late"]


@pytest.mark.parametrize(
    ("method", "path", "limit"),
    [
        ("POST", "/tracks/", 20),
        ("PUT", "/tracks/1/audio", 20),
        ("POST", "/albums/1/cover", 20),
        ("POST", "/portal/tracks/1/audio", 20),
        ("PATCH", "/tracks/1", 100),
        ("DELETE", "/tracks/1", 100),
        ("POST", "/portal/tracks/1", 100),
        ("POST", "/tracks/1/publishing", 100),
    ],
)
async def test_only_what_brings_a_file_is_an_upload(method: str, path: str, limit: int) -> None:
    """What is told of a track may be corrected as often as anything else is written."""
    limits = RateLimits(Settings(), Clock())

    assert limits.hit("a", path, method).limit == limit


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/auth/start", 10),
        ("/settings/accounts", 10),
        ("/settings", 100),
        ("/tracks/", 100),
    ],
)
async def test_whatever_begins_an_authorization_is_counted_with_signing_in(path: str, limit: int) -> None:
    """Each asks a server that a stranger may name."""
    limits = RateLimits(Settings(), Clock())

    assert limits.hit("a", path).limit == limit


@pytest.mark.parametrize(("method", "limit"), [("POST", 10), ("GET", 100), ("HEAD", 100)])
async def test_opening_the_sign_in_page_is_no_attempt_to_sign_in(method: str, limit: int) -> None:
    """Only its form asks a server that a stranger may name."""
    limits = RateLimits(Settings(), Clock())

    assert limits.hit("a", "/login", method).limit == limit


async def test_the_page_at_the_end_of_a_sign_in_is_never_the_request_too_many() -> None:
    """It shows a program's token, which would be lost."""
    limits = RateLimits(Settings(), Clock())
    for _ in range(11):
        refused = limits.hit("a", "/auth/callback")

    assert not refused.allowed
    assert limits.hit("a", "/login/arrived", "GET").allowed
