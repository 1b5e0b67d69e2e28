"""Editors find what can be mentioned by `parts.page.mention.search`, in the shape of its lexicon."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio

from tests.indexer.changes import did, uri
from tests.readapi.music import Music, Reply, playing

pytestmark = pytest.mark.asyncio(loop_scope="module")

SERVICE = "at://did:plc:editors/parts.page.mention.service/music"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shelf(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Music]:
    async with playing(tmp_path_factory.mktemp("shelf")) as served:
        yield served


async def search(shelf: Music, **asked: Any) -> Reply:
    return await shelf.get(f"/xrpc/parts.page.mention.search?{urlencode({'service': SERVICE, **asked})}")


async def test_tracks_artists_and_lists_are_found_with_their_players(shelf: Music) -> None:
    found = (await search(shelf, search="song 2")).json["results"]
    track = next(one for one in found if one["uri"] == str(uri("mara", "track", 2)))
    assert track["name"] == "Song 2"
    assert track["description"] == "by Mara"
    assert track["labels"] == [{"text": "track"}]
    assert (await shelf.get(track["href"].removeprefix(shelf.address), Accept="text/html")).status == 200
    assert (await shelf.get(track["embed"]["src"].removeprefix(shelf.address))).status == 200

    [album, *_] = (await search(shelf, search="first light", scope="albums")).json["results"]
    assert album["uri"] == str(uri("mara", "list", 1))
    assert (await shelf.get(album["embed"]["src"].removeprefix(shelf.address))).status == 200
    [artist, *_] = (await search(shelf, search="mara", scope="artists")).json["results"]
    assert artist["uri"] == f"at://{did('mara')}"
    within = (await search(shelf, search="song", scope=artist["subscope"]["scope"], limit=3)).json["results"]
    assert len(within) == 3
    assert {one["labels"][0]["text"] for one in within} == {"track"}


async def test_what_is_private_is_not_found_and_refusals_are_those_of_xrpc(shelf: Music) -> None:
    assert (await search(shelf, search="s")).json == {"results": []}
    names = {one["name"] for one in (await search(shelf, search="song", limit=50)).json["results"]}
    assert "Song 11" not in names
    for asked in ({"search": "song", "scope": "elephants"}, {"search": "song", "limit": 51}):
        reply = await search(shelf, **asked)
        assert (reply.status, reply.json["error"]) == (400, "InvalidRequest")
    assert (await shelf.get("/xrpc/parts.page.mention.search?search=song")).status == 400
