"""Plays are read from where the API counts them, on each kind of state database."""

import asyncio

from indexer.catalog.play_counts import PlayCounts
from readapi.state.state import open_state
from schemas.ids import AtUri
from schemas.settings import Settings

SONG = AtUri.parse("at://did:plc:mara/fm.svc.track/3kznmn7xqxl22")
OTHER = AtUri.parse("at://did:plc:mara/fm.svc.track/3kznmn7xqxl23")


async def test_what_was_counted_before_and_what_is_counted_then_is_told(state_settings: Settings) -> None:
    """Whole numbers, each when it changes."""
    async with open_state(state_settings) as state, asyncio.timeout(20):
        await state.plays.count(SONG, "ana", None)
        changes = PlayCounts(state_settings).changes()
        before = await anext(changes)
        await state.plays.count(SONG, "ben", None)
        await state.plays.count(OTHER, "ben", None)
        told: dict[str, int] = {}
        while told != {str(SONG): 2, str(OTHER): 1}:
            told |= await anext(changes)
        await changes.aclose()

    assert before == {str(SONG): 1}


async def test_a_state_database_that_is_not_there_yet_is_waited_for(unmigrated_settings: Settings) -> None:
    """The indexer may start before anything else."""
    async with asyncio.timeout(20):
        changes = PlayCounts(unmigrated_settings).changes()
        first = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0.1)
        async with open_state(unmigrated_settings) as state:
            await state.plays.count(SONG, "ana", None)
            told = await first
        await changes.aclose()

    assert told == {str(SONG): 1}
