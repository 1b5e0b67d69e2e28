"""What was begun under a lock that is lost meanwhile is answered as it ended."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest
from sqlalchemy import text

from readapi.index.lookups import Index
from readapi.index.queries import social
from readapi.pds.records import albums, reactions
from readapi.pds.writing import Writing
from readapi.state.db import advisory_locks
from readapi.state.state import State, open_state
from schemas.api.albums import NewAlbum
from schemas.collections import Collections
from schemas.ids import AtUri
from schemas.settings import Settings
from schemas.stored import Card
from tests.network.testnet import Network
from tests.readapi.desk import Desk, desk

pytestmark = pytest.mark.network

INTERRUPTED_SECONDS = 0.5


@pytest.fixture
async def room(network: Network, tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk(network, tmp_path / "desk") as opened:
        yield opened


@pytest.fixture
async def other(state: State, state_settings: Settings) -> AsyncIterator[State]:
    """The same state as another process has it."""
    async with open_state(state_settings) as opened:
        yield opened


class Cut(Writing):
    """Loses the locks while it waits for the index, long after the record was written."""

    other: State

    async def seen(self, *uris: AtUri) -> bool:
        async with self.other.database.writing() as connection:
            await connection.execute(
                text("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'")
            )
        await asyncio.sleep(INTERRUPTED_SECONDS)
        return True


@pytest.fixture
def writing(room: Desk, other: State, monkeypatch: pytest.MonkeyPatch) -> Writing:
    monkeypatch.setattr(advisory_locks, "GRACE_SECONDS", 0)
    cut = Cut(room.pds, Mock(), Collections())
    cut.other = other
    return cut


@pytest.mark.parametrize("state_settings", ["postgresql"], indirect=True)
async def test_a_comment_that_was_written_is_answered(
    room: Desk, writing: Writing, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever were told to try again would write it twice."""
    author, _ = await room.author()
    uri = f"at://{author.did}/{Collections().track}/3jzfcijpj2z2a"
    cid = "bafyreidfayvfuwqa7qlnopdjiqrxzs6blmoeu4rujcjtnci5beludirz2a"
    monkeypatch.setattr(social, "comment_count", lambda *_: 0)
    monkeypatch.setattr(reactions.tracks, "parse_card", lambda _: {"uri": uri, "cid": cid, "duration": None})
    said: dict[str, Any] = {"text": "a landing", "timestampMs": 0}

    written = await reactions.write_comment(
        writing, state.locks, cast(Index, None), author, cast(Card, Mock()), said, 1
    )

    found = await room.pds.get(author, written.uri.collection, written.uri.rkey)
    assert found is not None
    assert found.value == written.value


@pytest.mark.parametrize("state_settings", ["postgresql"], indirect=True)
async def test_an_album_that_was_written_is_answered(room: Desk, writing: Writing, state: State) -> None:
    """Whoever were told to try again would be told that its address is taken."""
    author, _ = await room.author()
    index = cast(Index, Mock(album=lambda *_: None))

    uri, value = await albums.make_album(writing, state, index, author, NewAlbum(title="Landings"))

    found = await room.pds.get(author, uri.collection, uri.rkey)
    assert found is not None
    assert found.value == value
