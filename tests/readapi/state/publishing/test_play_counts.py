"""A play counts once for each listener and while, and nobody can read who listened."""

import asyncio

import pytest
from sqlalchemy import select

from readapi.state.db.tables import listens, play_counts
from readapi.state.publishing.play_counts import replay_pause
from readapi.state.state import State, open_state
from schemas.ids import AtUri
from schemas.settings import Settings
from tests.readapi.state.people import BEN, MARA, HandClock

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
