"""Developer tokens are shown once, listed by prefix, and end by time, by their owner or by their server."""

from readapi.state.sign_in.developer_tokens import EXPIRED
from readapi.state.state import State
from tests.readapi.state.people import BEN, MARA, HandClock, account


async def test_a_token_is_found_by_its_secret_and_listed_by_its_prefix(state: State) -> None:
    """What is listed does not tell the rest."""
    mara = await account(state)

    token, expires_at = await state.developer_tokens.create(mara, "notebook")
    [listed] = await state.developer_tokens.of(MARA)

    assert (token[:6], len(token)) == ("fmsvc_", 49)
    assert listed.prefix == token[:12]
    assert (listed.name, listed.last_used_at, listed.expires_at) == ("notebook", None, expires_at)
    assert (expires_at - listed.created_at).days == 180
    found = await state.developer_tokens.find(token)
    assert found is not None
    assert (found.id, found.grant_id) == (listed.id, mara.grant_id)
    assert await state.developer_tokens.find(token[:-1]) is None
    assert await state.developer_tokens.of(BEN) == []


async def test_the_last_use_of_a_token_is_noted(state: State, clock: HandClock) -> None:
    """To five minutes."""
    token, _ = await state.developer_tokens.create(await account(state), "notebook")

    clock.forward(minutes=10)
    first_use = clock()
    await state.developer_tokens.find(token)
    clock.forward(minutes=4)
    await state.developer_tokens.find(token)

    [listed] = await state.developer_tokens.of(MARA)
    assert listed.last_used_at == first_use


async def test_a_token_ends_when_its_days_are_over(state: State, clock: HandClock) -> None:
    """And says so."""
    token, _ = await state.developer_tokens.create(await account(state), "notebook", days=1)

    clock.forward(days=1)

    found = await state.developer_tokens.find(token)
    assert found is not None
    assert found.ended_because == EXPIRED


async def test_a_token_says_why_its_grant_ended(state: State) -> None:
    """It stays listed until its owner takes it away."""
    mara = await account(state)
    token, _ = await state.developer_tokens.create(mara, "notebook")
    held = await state.grants.find(mara.grant_id)
    assert held is not None

    await state.grants.end(held, "Your server has taken the grant back.")

    found = await state.developer_tokens.find(token)
    assert found is not None
    assert found.ended_because == "Your server has taken the grant back."


async def test_only_its_owner_can_take_a_token_away(state: State) -> None:
    """Its grant is told, to be revoked."""
    mara = await account(state)
    token, _ = await state.developer_tokens.create(mara, "notebook")
    [listed] = await state.developer_tokens.of(MARA)

    assert await state.developer_tokens.remove(BEN, listed.id) is None
    assert await state.developer_tokens.remove(MARA, listed.id) == mara.grant_id

    assert await state.developer_tokens.find(token) is None
