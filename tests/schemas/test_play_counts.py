"""Play counts as the API counted them are read from each kind of state database."""

from datetime import timedelta

import pytest

from readapi.state.state import open_state
from schemas.ids import AtUri
from schemas.play_counts import Hour, PlayCountTable
from schemas.settings import Settings
from schemas.state_reader import Away
from tests.readapi.state.people import START, HandClock

SONGS = [AtUri.parse(f"at://did:plc:mara/fm.svc.track/3kznmn7xqxl2{number}") for number in (2, 3, 4)]


async def test_counts_are_read_after_a_track_and_since_an_instant(state_settings: Settings) -> None:
    """The instant itself counts: two plays may share one."""
    clock, table = HandClock(), PlayCountTable(state_settings)
    async with open_state(state_settings, clock) as state:
        for song in SONGS:
            await state.plays.count(song, "ana", None)
            clock.forward(seconds=1)
        await state.plays.count(SONGS[0], "ben", None)

        everything, after = await table.after(""), await table.after(str(SONGS[1]))
        since = await table.since(START + timedelta(seconds=2))
        later = await table.since(START + timedelta(seconds=3, microseconds=1))
        await table.close()

    assert list(everything.items()) == [(str(SONGS[0]), 2), (str(SONGS[1]), 1), (str(SONGS[2]), 1)]
    assert after == {str(SONGS[2]): 1}
    assert since == {str(SONGS[0]): 2, str(SONGS[2]): 1}
    assert later == {}


async def test_hours_are_read_in_their_order(state_settings: Settings) -> None:
    """After one of them: first by the hour, then by the track."""
    clock, table = HandClock(), PlayCountTable(state_settings)
    begin = int(START.timestamp() * 1_000_000)
    later = begin + 3_600_000_000
    async with open_state(state_settings, clock) as state:
        for listener, song in (("ana", SONGS[1]), ("ben", SONGS[1]), ("ana", SONGS[0])):
            await state.plays.count(song, listener, None)
        clock.forward(hours=1)
        await state.plays.count(SONGS[0], "ana", None)

        everything = await table.hours_after(Hour("", begin, 0))
        rest = await table.hours_after(everything[0])
        last = await table.hours_after(Hour("", later, 0))
        await table.close()

    assert everything == [
        Hour(str(SONGS[0]), begin, 1),
        Hour(str(SONGS[1]), begin, 2),
        Hour(str(SONGS[0]), later, 1),
    ]
    assert rest == everything[1:]
    assert last == everything[2:]


async def test_a_database_without_the_table_is_away(unmigrated_settings: Settings) -> None:
    """As before the API's first start."""
    table = PlayCountTable(unmigrated_settings)

    with pytest.raises(Away):
        await table.after("")

    await table.close()
