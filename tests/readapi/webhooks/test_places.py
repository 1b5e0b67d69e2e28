"""Places for deliveries: one account's slow receivers leave places for others."""

import asyncio

from readapi.webhooks.places import AT_ONCE, OF_AN_ACCOUNT, Places
from tests.indexer.changes import did


async def hold(places: Places, person: str, held: list[str]) -> None:
    """Hold a place for ever."""
    async with places.of(did(person)):
        held.append(person)
        await asyncio.Event().wait()


async def test_an_account_holds_few_places_and_all_together_a_bounded_number() -> None:
    places, held = Places(), list[str]()
    people = ["ana", *(f"p{number}" for number in range(AT_ONCE))]
    holding = [
        asyncio.create_task(hold(places, person, held)) for person in people for _ in range(OF_AN_ACCOUNT + 3)
    ]
    await asyncio.sleep(0.01)

    assert held.count("ana") == OF_AN_ACCOUNT
    assert len(held) == AT_ONCE
    for task in holding:
        task.cancel()
    await asyncio.gather(*holding, return_exceptions=True)
    async with asyncio.timeout(1), places.of(did("ana")):
        pass
