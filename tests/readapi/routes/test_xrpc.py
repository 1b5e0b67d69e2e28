"""XRPC methods give the answers of their routes, as the official client understands them."""

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from readapi.routes.xrpc import METHODS
from tests.indexer.changes import did, uri
from tests.network.xrpc_client import Call, call_queries
from tests.readapi.music import PRIVATE, Music, public_list_id, track_id

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGE = Path(__file__).parents[3] / "docs" / "xrpc.md"
TRACK = str(uri("mara", "track", 1))
BY_URI = TRACK.replace("/", "%2F")
# Each method with parameters, and the request to its route.
CALLS = {
    "getTrack": ({"track": TRACK}, f"/tracks/{BY_URI}"),
    "getTracks": (
        {"artist": did("mara"), "tags": ["ambient", "field recording"], "sort": "popular", "limit": 2},
        f"/tracks/?artist_did={did('mara')}&tags=ambient&tags=field+recording&sort=popular&limit=2",
    ),
    "searchTracks": ({"q": "song", "limit": 3}, "/search/?q=song&type=tracks&limit=3"),
    "getTopTracks": ({"period": "all_time", "limit": 3}, "/tracks/top?limit=3"),
    "getArtist": ({"artist": "mara.example"}, "/artists/mara.example"),
    "getAlbum": ({"album": public_list_id("mara", 1)}, f"/albums/by-id/{public_list_id('mara', 1)}"),
    "getPlaylist": ({"playlist": public_list_id("ben", 2)}, f"/lists/playlists/{public_list_id('ben', 2)}"),
    "getLikes": ({"track": str(track_id("mara", 1))}, f"/tracks/{track_id('mara', 1)}/likes"),
    "getComments": ({"track": TRACK}, f"/tracks/{BY_URI}/comments"),
    "getStats": ({}, "/stats"),
    "listTags": ({"q": "a", "limit": 2}, "/tracks/tags?q=a&limit=2"),
}
REFUSALS = {
    "getTrack?track=0": (404, "NotFound", "There is no such track."),
    f"getTrack?track={track_id('mara', PRIVATE)}": (404, "NotFound", "There is no such track."),
    "getTrack": (400, "InvalidRequest", "track must be given."),
    "getTracks?limit=0&artist=mara": (
        400,
        "InvalidRequest",
        "artist must be a DID; limit must be 1 or more.",
    ),
    "getTracks?cursor=x": (
        400,
        "InvalidCursor",
        "This cursor was not issued by this list; start again without one.",
    ),
    "nothing": (501, "MethodNotImplemented", "This service has no such method."),
    "": (501, "MethodNotImplemented", "This service has no such method."),
}


def as_xrpc(answer: Any, member: str | None) -> Any:
    """The answer of a route as its method gives it."""
    if member is not None:
        return {member: answer}
    if "next_cursor" not in answer:
        return answer
    page = {name: value for name, value in answer.items() if name not in ("next_cursor", "has_more")}
    if "results" in page:
        page["results"] = [
            {name: value for name, value in result.items() if name != "relevance"}
            for result in page["results"]
        ]
    return page | ({"cursor": answer["next_cursor"]} if answer["has_more"] else {})


async def test_every_method_gives_the_answer_of_its_route(music: Music) -> None:
    """Valid by its lexicon."""
    members = {method.name: method.member for method in METHODS}
    assert CALLS.keys() == members.keys()

    told = await call_queries(
        music.address, *(Call(f"fm.svc.{name}", params) for name, (params, _) in CALLS.items())
    )

    for (name, (_, path)), found in zip(CALLS.items(), told, strict=True):
        expected = as_xrpc((await music.get(path)).json, members[name])
        assert found.get("data") == expected, name


async def test_the_page_names_every_method_with_its_route() -> None:
    """In the order of the table."""
    rows = re.findall(r"^\| `fm\.svc\.(\w+)` \| `GET (\S+)`", PAGE.read_text(), re.MULTILINE)

    assert rows == [(method.name, method.path) for method in METHODS]


async def test_following_cursors_visits_every_track_once(music: Music) -> None:
    """The last page has no cursor."""
    whole = (await music.get("/tracks/?limit=100")).json["tracks"]
    pages: list[Any] = []
    cursor = ""
    while True:
        page = (await music.get(f"/xrpc/fm.svc.getTracks?limit=4{cursor}")).json
        pages.append(page["tracks"])
        if "cursor" not in page:
            break
        cursor = f"&cursor={page['cursor']}"

    assert len(pages) > 1
    assert list(itertools.chain(*pages)) == whole


@pytest.mark.parametrize("asked", REFUSALS)
async def test_refusals_have_the_form_of_xrpc(music: Music, asked: str) -> None:
    """`error` for programs, `message` for people, and nothing else."""
    reply = await music.get(f"/xrpc/fm.svc.{asked}" if asked else "/xrpc/")

    status, error, message = REFUSALS[asked]
    assert (reply.status, reply.json) == (status, {"error": error, "message": message})


async def test_a_query_is_no_procedure(music: Music) -> None:
    """Nor is it sent without the form of refusals."""
    reply = await music.send("POST", "/xrpc/fm.svc.getStats")

    assert (reply.status, reply.json["error"]) == (405, "MethodNotAllowed")
