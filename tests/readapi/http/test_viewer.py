"""Who asks is never older than a second, nor than this process's own writes."""

import asyncio
import time

import pytest
from multidict import CIMultiDict

from readapi.http.limits.rate_limits import Limiter, Rate, Spent
from readapi.http.viewer import Authenticator, InSession, Requester
from readapi.state.sign_in.linked_accounts import Account
from readapi.state.state import State, open_state
from schemas.settings import Settings
from tests.readapi.http.mocked import mocked_request
from tests.readapi.state.people import BEN, HandClock, account


def viewers_of(state: State, guesses: int = 100) -> Authenticator:
    """`guesses`: wrong credentials a minute that are looked up."""
    return Authenticator(state, Limiter(Rate(guesses, 60), time.monotonic), lambda _: "198.51.100.7")


async def asking(viewers: Authenticator, **headers: str) -> Requester | None:
    found = viewers.find(mocked_request("GET", "/", headers=headers))
    return None if found is None else await found


async def known(viewers: Authenticator, credential: str) -> bool:
    asker = await asking(viewers, Authorization=f"Bearer {credential}")
    return asker is not None and asker.signed_in is not None


async def signed_in(state: State) -> tuple[Account, str]:
    mara = await account(state)
    return mara, await state.sessions.begin(mara)


async def test_a_session_is_found_by_header_or_cookie(state: State) -> None:
    """The header wins; what is neither says nothing."""
    viewers = viewers_of(state)
    mara, session = await signed_in(state)
    token, _ = await state.developer_tokens.create(mara, "notebook")

    by_header = await asking(viewers, Authorization=f"bearer {session}")
    by_cookie = await asking(viewers, Cookie=f"a=b; session_id={session}; c=d")
    both = await asking(viewers, Authorization=f"Bearer {token}", Cookie=f"session_id={session}")
    nobody = [
        await asking(viewers, **sent) for sent in ({}, {"Authorization": "Basic x"}, {"Cookie": "session=x"})
    ]

    for asker, is_cookie in ((by_header, False), (by_cookie, True)):
        assert asker is not None
        assert isinstance(asker.viewer, InSession)
        assert (asker.viewer.did, asker.by_cookie, asker.viewer.by_cookie) == (mara.did, is_cookie, is_cookie)
        assert session not in repr(asker)
    assert both is not None
    assert both.viewer is not None
    assert not isinstance(both.viewer, InSession)
    assert nobody == [None] * 3


async def test_two_cookies_of_a_session_are_nobodys(state: State) -> None:
    """A host beside this one may set another of the same name, and which comes first; a header wins."""
    viewers = viewers_of(state)
    mara, hers = await signed_in(state)
    theirs = await state.sessions.begin(await account(state, BEN))

    asked = [
        await asking(viewers, Cookie=f"session_id={first}; theme=dark;\tsession_id={second}")
        for first, second in ((theirs, hers), (hers, theirs), (hers, ""), ("%", hers), (hers, f"{hers}="))
    ]
    parted = CIMultiDict([("Cookie", f"session_id={hers}"), ("Cookie", f"session_id={theirs}")])
    asked.append(await viewers.find(mocked_request("GET", "/", headers=parted)))
    same = await asking(viewers, Cookie=f"session_id={hers}; session_id={hers}")
    by_header = await asking(
        viewers, Authorization=f"Bearer {hers}", Cookie=f"session_id={hers}; session_id={theirs}"
    )

    for asker in asked:
        assert asker is not None
        assert (asker.signed_in, asker.by_cookie) == (None, True)
        assert asker.refusal is not None
        assert "Delete the cookies" in asker.refusal.message
    for asker in (same, by_header):
        assert asker is not None
        assert asker.viewer is not None
        assert asker.viewer.did == mara.did


async def test_a_cookie_is_renewed_with_its_session(state: State, clock: HandClock) -> None:
    """Once an hour, by the request that renewed the session, and for browsers only."""
    viewers = viewers_of(state)
    _, session = await signed_in(state)
    by_cookie, by_header = {"Cookie": f"session_id={session}"}, {"Authorization": f"Bearer {session}"}

    renewed = []
    for minutes, headers in ((0, by_cookie), (60, by_cookie), (0, by_cookie), (60, by_header)):
        clock.forward(minutes=minutes)
        asker = await asking(viewers, **headers)
        assert asker is not None
        renewed.append(asker.renewed_cookie)

    assert renewed == [None, session, None, None]


async def test_another_process_is_believed_after_a_second(
    state: State, state_settings: Settings, clock: HandClock
) -> None:
    """Until then a session that it ended may be served here."""
    viewers = viewers_of(state)
    _, session_id = await signed_in(state)
    first = await asking(viewers, Authorization=f"Bearer {session_id}")
    session = await state.sessions.find(session_id)
    assert session is not None
    async with open_state(state_settings, clock) as other:
        await other.sessions.end(session.key)

    at_once = await asking(viewers, Authorization=f"Bearer {session_id}")
    clock.forward(seconds=1)
    later = await asking(viewers, Authorization=f"Bearer {session_id}")

    assert at_once == first
    assert later is not None
    assert later.signed_in is None


async def test_a_write_here_is_seen_here_at_once(state: State) -> None:
    """Who signs out is signed out, also while somebody still looks."""
    viewers = viewers_of(state)
    _, session_id = await signed_in(state)
    session = await state.sessions.find(session_id)
    assert session is not None
    looking = [asyncio.create_task(asking(viewers, Cookie=f"session_id={session_id}")) for _ in range(5)]
    await asyncio.gather(*looking)

    await state.sessions.end(session.key)

    asker = await asking(viewers, Cookie=f"session_id={session_id}")
    assert asker is not None
    assert asker.signed_in is None
    assert asker.refusal is not None


async def test_a_session_that_time_ended_says_so(state: State, clock: HandClock) -> None:
    """Nobody is known by it any more."""
    viewers = viewers_of(state)
    _, session_id = await signed_in(state)
    clock.forward(days=14)

    asker = await asking(viewers, Authorization=f"Bearer {session_id}")

    assert asker is not None
    assert asker.signed_in is None
    assert asker.refusal is not None
    assert asker.refusal.message == "Your session has expired after two weeks without use."


async def test_wrong_credentials_are_looked_up_only_so_often(state: State) -> None:
    """However many come at once; whoever is signed in is known all the same, and right ones cost nothing."""
    viewers = viewers_of(state, guesses=3)
    good = [(await signed_in(state))[1] for _ in range(5)]
    for session in good:
        assert all(await asyncio.gather(*(known(viewers, session) for _ in range(10))))

    wrong = (known(viewers, f"wrong-{number}") for number in range(10))
    told = await asyncio.gather(*wrong, return_exceptions=True)
    state.database.writes += 1  # so that nothing is remembered any more

    assert [isinstance(one, Spent) for one in told] == [False] * 3 + [True] * 7
    assert await known(viewers, good[0])
    with pytest.raises(Spent) as spent:
        await known(viewers, "another")
    allowance = spent.value.allowance
    assert 0 < allowance.reset_seconds <= 60
    assert allowance.lines().endswith(f"Retry-After: {allowance.reset_seconds}\r\n")
