"""An artist's numbers over HTTP: what was counted of their own tracks, and of nobody else's."""

import pytest

from readapi.state.sign_in.linked_accounts import Account
from readapi.state.state import open_state
from schemas import data_folder
from schemas.ids import Handle
from tests.indexer.changes import did, put, uri
from tests.indexer.running import until
from tests.readapi.music import PRIVATE, playing, track_id
from tests.readapi.state.people import grant

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_an_artist_sees_their_own_numbers_and_those_of_private_tracks(tmp_path):
    """On the page and as CSV; a track of somebody else is refused, and strangers have to sign in."""
    async with playing(tmp_path) as music, open_state(music.settings) as state:
        for number, place in enumerate((2, 2, PRIVATE)):
            await state.plays.count(uri("mara", "track", place), f"192.0.2.{number}", None)
        await music.add(put("ben", "track", 31, at=50))
        newest = (tmp_path / data_folder.NEWEST_SERIES).readlink().name
        await until(lambda: music.stores.series.version == newest)
        account = Account(did("mara"), Handle("mara.example"), await state.grants.add(grant(did("mara"))))
        mara = {"Authorization": f"Bearer {await state.sessions.begin(account)}"}
        page = await music.get("/portal/numbers", **mara)
        private = await music.get(f"/portal/numbers?track={track_id('mara', PRIVATE)}", **mara)
        table = await music.get("/portal/numbers.csv", **mara)
        of_ben = await music.get(f"/portal/numbers?track={track_id('ben', 31)}", **mara)
        stranger = await music.get("/portal/numbers.csv")

    lines = table.json.splitlines()
    plays = {line.split(",")[1]: line.split(",")[2] for line in lines[1:]}
    assert (page.status, private.status) == (200, 200)
    assert "<figcaption>Plays by the week" in private.json
    assert plays[str(uri("mara", "track", 2))] == "2"
    assert plays[str(uri("mara", "track", PRIVATE))] == "1"
    assert all(did("mara") in track for track in plays)
    assert (of_ben.status, stranger.status) == (403, 401)
