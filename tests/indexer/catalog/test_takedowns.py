"""Takedowns are read from where they are decided, on each kind of state database."""

import asyncio

from indexer.catalog.takedowns import follow_takedowns
from readapi.state.state import State, open_state
from schemas.settings import Settings

ANA, BEN = "did:plc:ana", "did:plc:ben"


async def decide(state: State, action: str, subject: str) -> None:
    await state.takedown_decisions.decide(subject, action, "Spam.", "operator")  # type: ignore[arg-type]


async def test_what_stands_is_told_first_and_after_each_decision(state_settings: Settings) -> None:
    """All of it each time."""
    async with open_state(state_settings) as state, asyncio.timeout(20):
        await decide(state, "takedown", ANA)
        changes = follow_takedowns(state_settings)
        first = await anext(changes)
        await decide(state, "takedown", BEN)
        await decide(state, "restore", ANA)
        while (last := await anext(changes)) != {BEN}:
            assert last == {ANA, BEN}
        await decide(state, "takedown", ANA)
        both = await anext(changes)
        await changes.aclose()

    assert (first, both) == ({ANA}, {ANA, BEN})


async def test_a_state_database_that_is_not_there_yet_is_waited_for(unmigrated_settings: Settings) -> None:
    """The indexer may start before anything else."""
    async with asyncio.timeout(20):
        changes = follow_takedowns(unmigrated_settings)
        first = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0.1)
        async with open_state(unmigrated_settings) as state:
            await decide(state, "takedown", ANA)
            while (told := await first) != {ANA}:
                first = asyncio.ensure_future(anext(changes))
        await changes.aclose()

    assert told == {ANA}
