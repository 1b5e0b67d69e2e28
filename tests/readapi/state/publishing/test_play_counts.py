"""A play counts once for each listener and while, and nobody can read who listened."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from readapi.state.db.tables import listens, play_counts, play_hours
from readapi.state.publishing.play_counts import hour_of, replay_pause
from readapi.state.state import State, open_state
from schemas.ids import AtUri
from schemas.play_counts import HOURS_KEPT
from schemas.settings import Settings
from tests.readapi.state.people import BEN, MARA, START, HandClock

SONG = AtUri.parse("at://did:plc:mara/fm.svc.track/3kznmn7xqxl22")
OTHER = AtUri.parse("at://did:plc:mara/fm.svc.track/3kznmn7xqxl23")
ADDRESS = "192.0.2.7"


@pytest.mark.parametrize(("duration", "seconds"), [(None, 30), (5, 30), (200, 200), (7200, 3600)])
def test_the_pause_is_as_long_as_the_track(duration, seconds):
    """Half a minute at least, an hour at most."""
    assert replay_pause(duration).total_seconds() == seconds


async def test_repetitions_do_not_count_until_the_track_is_over(state: State, clock: HandClock) -> None:
    """For each listener and track on its own."""
    first = await state.plays.count(SONG, MARA, 200)
    clock.forward(seconds=199)
    early = await state.plays.count(SONG, MARA, 200)
    others = [await state.plays.count(SONG, listener, 200) for listener in (BEN, ADDRESS)]
    clock.forward(seconds=1)
    late = await state.plays.count(SONG, MARA, 200)
    elsewhere = await state.plays.count(OTHER, MARA, 200)

    assert (first.count, early.count, late.count, elsewhere.count) == (1, 1, 4, 1)
    assert [play.count for play in others] == [2, 3]
    assert (early.counted_at, late.counted_at) == (None, clock())


async def test_a_race_counts_once(state: State, state_settings: Settings, clock: HandClock) -> None:
    """Among requests, and among processes that share the database."""
    async with open_state(state_settings, clock) as other:
        plays = await asyncio.gather(
            *(one.plays.count(SONG, ADDRESS, None) for one in (state, other) for _ in range(5))
        )

    assert [play.count for play in plays] == [1] * 10
    assert sum(play.counted_at is not None for play in plays) == 1


async def test_plays_and_listeners_are_counted_by_the_hour(state: State, clock: HandClock) -> None:
    """A listener counts once in each hour, however often they play it; the total is the sum of the plays."""
    clock.forward(minutes=58)
    for listener in (MARA, MARA, BEN, MARA):  # the second comes too soon
        await state.plays.count(SONG, listener, None)
        clock.forward(seconds=20)
    clock.forward(seconds=40)
    for seconds in (0, 30, 3599):  # 13:00:00, 13:00:30, and 14:00:29: an hour later, but for a second
        clock.forward(seconds=seconds)
        last = await state.plays.count(SONG, MARA, None)
    await state.plays.count(OTHER, BEN, None)

    assert clock() == START + timedelta(hours=2, seconds=29)
    assert await _hours(state) == [
        (str(SONG), START, 3, 2),
        (str(SONG), START + timedelta(hours=1), 2, 1),
        (str(SONG), START + timedelta(hours=2), 1, 1),
        (str(OTHER), START + timedelta(hours=2), 1, 1),
    ]
    assert last.count == 6


async def test_hours_under_a_race(state: State, state_settings: Settings, clock: HandClock) -> None:
    """Processes that share the database lose no play and no listener, and count none twice."""
    async with open_state(state_settings, clock) as other:
        await asyncio.gather(
            *(one.plays.count(SONG, f"192.0.2.{n}", None) for one in (state, other) for n in range(8))
        )
        clock.forward(minutes=1)
        await asyncio.gather(*(one.plays.count(SONG, ADDRESS, None) for one in (state, other)))

    assert await _hours(state) == [(str(SONG), START, 9, 8)]


async def test_hours_end_with_their_time_and_totals_stay(state: State, clock: HandClock) -> None:
    """Of the track that is played, and of all others."""
    for song in (SONG, OTHER):
        await state.plays.count(song, MARA, None)
    clock.forward(seconds=HOURS_KEPT.total_seconds())
    await state.plays.count(SONG, MARA, None)
    kept = await _hours(state)
    clock.forward(hours=1)
    song = await state.plays.count(SONG, MARA, None)

    last = START + HOURS_KEPT
    assert kept == [(str(SONG), START, 1, 1), (str(SONG), last, 1, 1), (str(OTHER), START, 1, 1)]
    assert await _hours(state) == [(str(SONG), last, 1, 1), (str(SONG), last + timedelta(hours=1), 1, 1)]
    assert song.count == 3


def test_an_hour_begins_in_utc() -> None:
    """At the full hour."""
    assert hour_of(datetime(2026, 3, 1, 12, 59, 59, 999_999, UTC)) == datetime(2026, 3, 1, 12, tzinfo=UTC)


async def test_who_listened_is_not_kept_readable_or_long(state: State, clock: HandClock) -> None:
    """A keyed hash, for an hour; the count stays."""
    await state.plays.count(SONG, ADDRESS, 7200)
    async with state.database.reading() as connection:
        [kept] = (await connection.execute(select(listens))).all()
    clock.forward(hours=2)
    await state.plays.count(OTHER, MARA, None)
    async with state.database.reading() as connection:
        left = (await connection.execute(select(listens.c.track_uri))).scalars().all()
        counted = dict((await connection.execute(select(play_counts.c.track_uri, play_counts.c.plays))).all())

    assert ADDRESS.encode() not in kept.listener
    assert len(kept.listener) == 32
    assert left == [str(OTHER)]
    assert counted == {str(SONG): 1, str(OTHER): 1}


async def _hours(state: State) -> list[tuple[object, ...]]:
    columns = (play_hours.c.track_uri, play_hours.c.hour, play_hours.c.plays, play_hours.c.listeners)
    async with state.database.reading() as connection:
        found = await connection.execute(select(*columns).order_by(play_hours.c.track_uri, play_hours.c.hour))
        return [tuple(row) for row in found]
