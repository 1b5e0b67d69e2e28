"""A server that is slow holds up nobody but its own people."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from readapi.oauth.errors import Unavailable
from readapi.oauth.throttle import KeyedSlots


async def test_there_are_so_many_turns_at_each_server() -> None:
    """One more waits, and is told so when that takes too long; at another server there is a turn at once."""
    turns = KeyedSlots(at_once=3, patience_seconds=0.05)
    async with AsyncExitStack() as taken:
        for _ in range(3):
            await taken.enter_async_context(turns.at("https://slow.example"))

        async with turns.at("https://quick.example"):
            pass
        with pytest.raises(Unavailable):
            await taken.enter_async_context(turns.at("https://slow.example"))


async def test_a_turn_that_is_over_is_the_next_ones() -> None:
    """Also when whoever had it failed."""
    turns, order = KeyedSlots(at_once=1), []

    async def take(number: int) -> None:
        async with turns.at("https://slow.example"):
            order.append(number)
            await asyncio.sleep(0)
            raise ValueError

    failed = await asyncio.gather(*(take(number) for number in range(5)), return_exceptions=True)

    assert order == [0, 1, 2, 3, 4]
    assert [type(error) for error in failed] == [ValueError] * 5
