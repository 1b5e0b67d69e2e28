"""Webhooks have room: for each token, for each account, and in all for those that are delivered to."""

from datetime import timedelta

import pytest

from readapi.state.state import State
from readapi.state.webhooks import MOST_OF_A_TOKEN, MOST_OF_AN_ACCOUNT, NewWebhook, TooManyWebhooks, Webhook
from schemas.ids import Did
from tests.readapi.state.people import BEN, MARA, HandClock, account


async def token_of(state: State, did: Did, days: int = 90) -> str:
    """The id of a new developer token."""
    before = {token.id for token in await state.developer_tokens.of(did)}
    await state.developer_tokens.create(await account(state, did), "program", days=days)
    [made] = {token.id for token in await state.developer_tokens.of(did)} - before
    return made


async def add(state: State, did: Did, token_id: str, most: int = 1000) -> Webhook:
    new = NewWebhook(token_id, did, "https://receiver.example/hook", "{}", "log", 1)
    return await state.webhooks.add(new, "whsec_c2VjcmV0", most)


async def test_an_account_has_so_many_whatever_tokens_it_makes(state: State) -> None:
    """Another account is not concerned, and one that is deleted makes room."""
    for _ in range(MOST_OF_AN_ACCOUNT // MOST_OF_A_TOKEN):
        token = await token_of(state, MARA)
        made = [await add(state, MARA, token) for _ in range(MOST_OF_A_TOKEN)]
        with pytest.raises(TooManyWebhooks, match=f"A developer token has at most {MOST_OF_A_TOKEN}"):
            await add(state, MARA, token)

    token = await token_of(state, MARA)
    with pytest.raises(TooManyWebhooks, match=f"An account has at most {MOST_OF_AN_ACCOUNT}"):
        await add(state, MARA, token)
    await add(state, BEN, await token_of(state, BEN))
    await state.webhooks.remove(made[0].id)
    await add(state, MARA, token)


async def test_paused_and_ended_ones_take_no_room_from_others(state: State, clock: HandClock) -> None:
    """Only those that are delivered to are counted in all."""
    lasting, brief = await token_of(state, MARA), await token_of(state, MARA, days=1)
    paused = await add(state, MARA, lasting, most=2)
    await add(state, MARA, brief, most=2)
    with pytest.raises(TooManyWebhooks, match="no room for another webhook"):
        await add(state, BEN, await token_of(state, BEN), most=2)

    await state.webhooks.fail(paused, "No.", timedelta(0), "Given up.")
    await add(state, BEN, await token_of(state, BEN), most=2)
    with pytest.raises(TooManyWebhooks, match="no room"):
        await add(state, BEN, await token_of(state, BEN), most=2)
    clock.forward(days=2)
    await add(state, BEN, await token_of(state, BEN), most=2)
