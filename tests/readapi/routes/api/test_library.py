"""Whoever is signed in sees at every track whether they like it."""

from typing import Any

import pytest

from readapi.state.sign_in.linked_accounts import Account
from readapi.state.state import open_state
from schemas.ids import Handle
from tests.indexer.changes import did, uri
from tests.readapi.music import Music, public_list_id, track_id
from tests.readapi.state.people import grant

pytestmark = pytest.mark.asyncio(loop_scope="module")

TWO, THREE = track_id("mara", 2), track_id("mara", 3)
PLACES = {
    "/tracks/": "tracks",
    "/tracks/top": None,
    "/tracks/tags/ambient": "tracks",
    f"/tracks/{TWO}": None,
    f"/tracks/by-uri?uri={uri('mara', 'track', 2)}": None,
    f"/albums/by-id/{public_list_id('mara', 1)}": "tracks",
    f"/lists/playlists/{public_list_id('ben', 2)}": "tracks",
    "/users/ida.example/likes": "tracks",
}


async def session(music: Music, name: str) -> str:
    """The id of a session of somebody."""
    async with open_state(music.settings) as state:
        whose = did(name)
        account = Account(whose, Handle(f"{name}.example"), await state.grants.add(grant(whose)))
        return await state.sessions.begin(account)


def likes(answer: Any, member: str | None) -> dict[int, bool]:
    """Of the two tracks that somebody likes, and of one that nobody does."""
    found = answer if member is None else answer[member]
    tracks = found if isinstance(found, list) else [found]
    watched = (TWO, THREE, track_id("mara", 1))
    return {track["id"]: track["is_liked"] for track in tracks if track["id"] in watched}


@pytest.mark.parametrize(("path", "member"), PLACES.items())
async def test_a_track_says_whether_its_viewer_likes_it(music: Music, path: str, member: str | None) -> None:
    """Single or in any list; to them alone, while everybody else shares an answer in which nobody does."""
    ida = {"Authorization": f"Bearer {await session(music, 'ida')}"}
    ben = {"Authorization": f"Bearer {await session(music, 'ben')}"}

    for headers, liked in ((ida, {TWO, THREE}), ({}, set()), (ben, {TWO})):
        reply = await music.get(path, **headers)
        told = likes(reply.json, member)
        assert told
        assert told == {number: number in liked for number in told}
        assert reply.headers["Cache-Control"] == ("private, no-cache" if headers else "public, max-age=2")
