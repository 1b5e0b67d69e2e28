"""A transaction ends with the task that began it, wherever that is cancelled."""

import asyncio

from sqlalchemy import text

from readapi.state.state import State

MOMENTS = 80


async def test_a_cancelled_transaction_is_over_at_once(state: State) -> None:
    """The next one gets the lock; of what was cut there is all or nothing."""
    database = state.database
    async with database.writing() as connection:
        await connection.execute(text("create table pairs (number integer)"))

    async def write() -> None:
        async with database.writing() as connection:
            for _ in range(2):
                returned = await connection.execute(
                    text("insert into pairs values (1), (2) returning number")
                )
                assert len(returned.all()) == 2

    for moment in range(MOMENTS):
        cut = asyncio.create_task(write())
        await asyncio.sleep(moment / 20_000)
        cut.cancel()
        await asyncio.gather(cut, return_exceptions=True)
        await write()

    async with database.reading() as connection:
        count = (await connection.execute(text("select count(*) from pairs"))).scalar_one()
    assert count % 4 == 0
    assert 4 * MOMENTS <= count <= 8 * MOMENTS
