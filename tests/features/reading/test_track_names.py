"""What a track can be called: its id while no other record asks for that, its id with a check for ever."""

import re
from urllib.parse import quote

import pytest

from readapi.errors import Conflict, NotFound
from readapi.index.queries import tracks
from schemas.access import Viewer
from schemas.ids import checked_id, checked_key, record_id, record_key
from tests.collision import SHARED_ID, meeting, put_meeting
from tests.indexer.changes import did, uri
from tests.readapi.music import PRIVATE, PUBLIC_TRACKS, SUPPORTERS, playing


def track_uri(person: str, number: int) -> str:
    return str(uri(person, "track", number))


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_stranger_takes_over_no_address_of_a_track(tmp_path):
    """Both records of a true collision lose the plain id; what pages and players are called stays good."""
    async with playing(tmp_path) as music:
        await music.add(put_meeting("mara", at=90, title="Hers"))
        plain = await music.get(f"/tracks/{SHARED_ID}")
        embedded = (await music.get(f"/oembed?url={music.address}/track/{SHARED_ID}")).json["html"]
        player = re.search(r'src="([^"]+)"', embedded)[1].removeprefix(music.address)
        page = player.removeprefix("/embed")
        before = [await music.get(path) for path in (player, page)]

        await music.add(put_meeting("ben", at=91, title="His"))

        assert plain.json["title"] == "Hers"
        for path in (f"/tracks/{SHARED_ID}", f"/track/{SHARED_ID}", f"/embed/track/{SHARED_ID}"):
            assert (await music.get(path)).status == 404
            assert (await music.get(f"{path}/stream")).status == 404
        assert (await music.get(f"/oembed?url={music.address}/track/{SHARED_ID}")).status == 404
        for path, earlier in zip((player, page), before, strict=True):
            now = await music.get(path)
            assert (now.status, earlier.status) == (200, 200)
            assert "Hers" in now.json
            assert "His" not in now.json
        assert (await music.get(f"/oembed?url={music.address}{page}")).json["title"] == "Hers"
        for person, title in (("mara", "Hers"), ("ben", "His")):
            for name in (checked_id(str(meeting(person))), quote(str(meeting(person)), safe="")):
                shown = (await music.get(f"/tracks/{name}")).json
                assert (shown["title"], shown["id"]) == (title, record_id(str(meeting(person)), 1))
            by_number = await music.get(f"/tracks/{shown['id']}")
            assert by_number.json["title"] == title
            with pytest.raises(Conflict, match=str(meeting(person))):
                tracks.find_own_track(music.stores.index, str(SHARED_ID), Viewer(did(person)))
        with pytest.raises(NotFound):
            tracks.find_own_track(music.stores.index, str(SHARED_ID), Viewer(did("ida")))


async def test_an_address_with_a_wrong_check_is_nobodys(music):
    """Each bit of it counts; and neither longer nor shorter ones, nor other numbers, are taken."""
    right = checked_id(track_uri("mara", 1))
    number, check = right.split("-")
    wrong = [f"{number}-{check[:at]}{'a' if check[at] != 'a' else 'b'}{check[at + 1 :]}" for at in range(8)]
    wrong += [f"{number}-", f"{number}-{check[:7]}", f"{right}a", f"0{right}", f"{number}-{check.upper()}"]
    wrong += [f"{int(number) + 1}-{check}", f"{1 << 53}-{check}", f"-{check}", check, f"{number}_{check}"]

    assert (await music.get(f"/tracks/{right}")).json["uri"] == track_uri("mara", 1)
    for name in wrong:
        for path in (f"/tracks/{name}", f"/track/{name}", f"/embed/track/{name}"):
            assert (await music.get(path)).status == 404, name
        assert (await music.get(f"/oembed?url={music.address}/track/{name}")).status == 404, name


async def test_a_check_opens_nothing_that_its_id_does_not(music):
    """Private tracks stay unknown, and gated ones gated."""
    for number, status in ((PRIVATE, 404), (SUPPORTERS, 401), (PUBLIC_TRACKS, 200)):
        uri = track_uri("mara", number)
        by_id, by_check = [
            await music.get(f"/tracks/{name}/{'likes' if status == 200 else 'stream'}")
            for name in (record_id(uri), checked_id(uri))
        ]
        assert (by_id.status, by_check.status) == (status, status)


async def test_a_checked_id_begins_with_the_id_and_the_key():
    """On both sides of where keys become negative; it is never longer than 25 characters."""
    for number in range(50):
        uri = f"at://did:plc:asdf/fm.svc.track/{number}"
        name = checked_id(uri)

        assert name.startswith(f"{record_id(uri)}-")
        assert checked_key(name) == record_key(uri)
        assert len(name) <= 25
