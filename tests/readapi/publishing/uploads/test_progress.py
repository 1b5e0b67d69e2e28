"""Whoever waits for work is told how it ended, and does not wait for ever."""

import asyncio
import dataclasses
import gc
from pathlib import Path
from typing import Any, cast

import pytest

from readapi.errors import ApiError, Conflict, PdsUnavailable, RateLimited, UnsupportedMediaType
from readapi.http.viewer import SignedIn
from readapi.publishing.uploads.progress import (
    LOOK_SECONDS,
    MOST_WATCHED,
    STILL_AT_IT,
    Events,
    UploadWatch,
    Watch,
)
from readapi.state.publishing.uploads import Upload
from readapi.state.sign_in.sessions import Session
from readapi.state.state import State, open_state
from schemas.ids import Did
from schemas.settings import Settings
from tests.readapi.state.people import BEN, MARA, account
from tests.readapi.state.publishing.made import FIRST, upload


async def test_nobody_waits_for_ever(tmp_path: Path) -> None:
    """The work goes on, and they are told so."""
    async with open_state(Settings(data_dir=tmp_path)) as state:
        with pytest.raises(Conflict) as refused:
            await UploadWatch(state).completed(await upload(state), patience_seconds=0.01)

    assert refused.value.message == STILL_AT_IT


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("pds_unavailable", PdsUnavailable),
        ("unsupported_media_type", UnsupportedMediaType),
        ("conflict", Conflict),
    ],
)
async def test_what_has_failed_is_refused_by_its_own_code(
    tmp_path: Path, code: str, kind: type[ApiError]
) -> None:
    """With its own sentence."""
    async with open_state(Settings(data_dir=tmp_path)) as state:
        failed = dataclasses.replace(await upload(state), status="failed", error=code, message="It failed.")
        with pytest.raises(kind) as refused:
            await UploadWatch(state).completed(failed)

    assert (refused.value.code, refused.value.message) == (code, "It failed.")


@dataclasses.dataclass
class Counted:
    """A state database that counts how often uploads are looked up."""

    state: State
    looks: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.state, name)

    @property
    def uploads(self) -> "Counted":
        return self

    async def find(self, upload_id: str) -> Upload | None:
        self.looks += 1
        return await self.state.uploads.find(upload_id)


async def read(events: Events) -> list[bytes]:
    """What is sent, up to its end."""
    return [event async for event in events._events]


async def somebody(state: State, did: Did = MARA, *, by_token: bool = True) -> SignedIn:
    """Who asks, by a developer token or in a session."""
    whom = await account(state, did)
    if by_token:
        secret, _ = await state.developer_tokens.create(whom, "radio")
        found = await state.developer_tokens.find(secret)
    else:
        found = await state.sessions.find(await state.sessions.begin(whom))
    assert found is not None
    return SignedIn(found)


async def test_all_who_watch_an_upload_look_once(state: State) -> None:
    """However many they are; each is told all the same."""
    counted = Counted(state)
    watching, waiting = UploadWatch(cast(State, counted)), await upload(state)
    who = await somebody(state)
    streams = [asyncio.create_task(read(watching.events(waiting, 0, who))) for _ in range(MOST_WATCHED)]
    await asyncio.sleep(3 * LOOK_SECONDS)
    await state.uploads.claims.claim(FIRST)
    await state.uploads.complete(waiting.id, FIRST, "Done.")

    told = await asyncio.wait_for(asyncio.gather(*streams), 20)

    assert counted.looks <= 3 + 3
    for events in told:
        assert [b'"completed"' in event for event in events] == [False, False, True]


async def test_an_account_watches_few_at_a_time(state: State) -> None:
    """Whoever goes makes room, though nothing was ever sent to them."""
    watching, waiting = UploadWatch(state), await upload(state)
    who, ben = await somebody(state), await somebody(state, BEN)
    streams = [watching.events(waiting, 0, who) for _ in range(MOST_WATCHED)]

    with pytest.raises(RateLimited, match="You watch 4 uploads already"):
        watching.events(waiting, 0, who)
    watching.events(waiting, 0, ben)
    del streams[0]
    gc.collect()

    assert watching.events(waiting, 0, who)


async def test_watching_ends_after_a_while(state: State) -> None:
    """The client comes back, as it is told to."""
    watching, waiting = UploadWatch(state, Watch(seconds=0.2)), await upload(state)

    told = await asyncio.wait_for(read(watching.events(waiting, 0, await somebody(state))), 20)

    assert [event.partition(b":")[0] for event in told] == [b"retry", b"id"]


@pytest.mark.parametrize("by_token", [True, False])
async def test_watching_ends_with_the_session_or_the_token(state: State, by_token: bool) -> None:
    """Though the upload goes on."""
    watching, waiting = UploadWatch(state, Watch(check_seconds=0.05)), await upload(state)
    who = await somebody(state, by_token=by_token)
    watched = asyncio.create_task(read(watching.events(waiting, 0, who)))
    await asyncio.sleep(0.2)
    assert not watched.done()

    if isinstance(who.account, Session):
        await state.sessions.end(who.account.key)
    else:
        await state.developer_tokens.remove(MARA, who.account.id)

    assert len(await asyncio.wait_for(watched, 20)) == 2
