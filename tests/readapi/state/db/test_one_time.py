"""Flights and exchange tokens are taken once, in time, by one."""

import asyncio
import base64

from readapi.state.sign_in.authorization_requests import AuthorizationPurpose, AuthorizationRequest
from readapi.state.sign_in.exchange_tokens import ExchangeToken
from readapi.state.sign_in.grants import GrantId
from readapi.state.state import State, open_state
from schemas.ids import Handle
from schemas.settings import Settings
from tests.readapi.state.people import MARA, HandClock, flight

ERRAND = AuthorizationPurpose(
    "developer_token", session_key="00ff", details={"name": "notebook", "days": 180}
)
ARRIVAL = ExchangeToken(MARA, Handle("mara.example"), GrantId("grant"), ERRAND)


async def test_a_flight_comes_back_as_it_was_put(state: State) -> None:
    """Once, and only by its own state."""
    departure = AuthorizationRequest(flight(), ERRAND)

    await state.flights.put(departure)

    assert await state.flights.take("another") is None
    assert await state.flights.take(departure.flight.state) == departure
    assert await state.flights.take(departure.flight.state) is None


async def test_a_flight_lasts_ten_minutes(state: State, clock: HandClock) -> None:
    """To the second."""
    late, in_time = AuthorizationRequest(flight(), ERRAND), AuthorizationRequest(flight(), ERRAND)
    await state.flights.put(late)
    clock.forward(seconds=1)
    await state.flights.put(in_time)

    clock.forward(seconds=599)

    assert await state.flights.take(late.flight.state) is None
    assert await state.flights.take(in_time.flight.state) == in_time


async def test_an_exchange_token_lasts_a_minute(state: State, clock: HandClock) -> None:
    """Then it is worth nothing."""
    token = await state.exchanges.put(ARRIVAL)

    clock.forward(seconds=60)

    assert await state.exchanges.take(token) is None


async def test_what_was_sealed_with_a_key_that_is_gone_is_nothing(state_settings: Settings) -> None:
    """Whoever was on the way begins again."""
    old, new = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))
    async with open_state(state_settings.model_copy(update={"secret_keys": (old,)})) as state:
        token = await state.exchanges.put(ARRIVAL)

    async with open_state(state_settings.model_copy(update={"secret_keys": (new,)})) as state:
        assert await state.exchanges.take(token) is None


async def test_of_many_who_take_a_token_at_once_one_gets_it(state: State, state_settings: Settings) -> None:
    """Whichever process they ask."""
    async with open_state(state_settings, state.database.now) as other:
        token = await state.exchanges.put(ARRIVAL)
        taking = (one.exchanges.take(token) for one in [state, other] * 10)

        taken = await asyncio.gather(*taking)

    assert [one for one in taken if one is not None] == [ARRIVAL]
