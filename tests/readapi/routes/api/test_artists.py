"""Artists by handle or DID, and what they like."""

import itertools

import pytest

from readapi.state.sign_in.linked_accounts import Account
from readapi.state.state import open_state
from schemas.api.artists import Artist
from schemas.api.tracks import LikedTrackPage
from schemas.ids import Handle
from tests.indexer.changes import did, uri
from tests.readapi.state.people import grant

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("name", ["mara.example", "MARA.example", "@mara.example", did("mara")])
async def test_an_artist_is_found_by_handle_and_did(music, name):
    """In any case, with or without the @."""
    artist = Artist.model_validate((await music.get(f"/artists/{name}")).json, strict=True)

    assert artist.did == did("mara")
    assert artist.display_name == "Mara"


async def test_an_account_without_a_profile_is_an_artist_too(music):
    """What is not known is null."""
    artist = Artist.model_validate((await music.get("/artists/ben.example")).json, strict=True)

    assert artist.did == did("ben")
    assert artist.display_name is None


@pytest.mark.parametrize("name", ["nobody.example", "handle.invalid", "did:plc:nobody", "..%2f"])
async def test_who_is_not_known_is_not_found(music, name):
    """A handle that does not hold names nobody."""
    assert (await music.get(f"/artists/{name}")).status == 404


async def test_likes_are_listed_newest_first(music):
    """Only of tracks that everybody may see, and so they are counted."""
    reply = await music.get("/users/IDA.example/likes")

    page = LikedTrackPage.model_validate(reply.json, strict=True)

    assert [track.title for track in page.tracks] == ["Song 3", "Song 2"]
    assert page.count == 2
    assert page.user.handle == "ida.example"
    pages = await music.pages("/users/ida.example/likes?limit=1", "tracks")
    assert list(itertools.chain(*pages)) == reply.json["tracks"]


async def test_likes_are_shown_unless_somebody_chose_otherwise(music):
    """Then they see them alone, and the profile says so: at once, whichever worker was told."""
    name, likes = did("lost"), f"/users/{did('lost')}/likes"
    before = [(await music.get(path)).status for path in (likes, f"/artists/{name}")]
    async with open_state(music.settings) as state:
        await state.showing.choose(str(uri("lost", "profile")), False)
        granted = await state.grants.add(grant(name))
        session = await state.sessions.begin(Account(name, Handle("lost.example"), granted))

    own = await music.get(likes, Authorization=f"Bearer {session}")
    others = await music.get(likes)
    profile = await music.get(f"/artists/{name}")

    assert before == [200, 200]
    assert (own.status, [track["title"] for track in own.json["tracks"]]) == (200, ["Song 2"])
    assert (others.status, others.json["detail"]) == (404, "not_found")
    assert profile.json["show_liked_on_profile"] is False
