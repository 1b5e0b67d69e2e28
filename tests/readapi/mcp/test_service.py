"""fmsvc's own MCP server at /mcp, over a little music: both handshakes, every tool, the gate's bounds."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from fmsvc.mcp.guides import INSTRUCTIONS
from readapi.http.limits.clients import CLIENT_HEADER
from readapi.mcp import inner
from tests.indexer.changes import did, uri
from tests.readapi.mcp import conformance
from tests.readapi.mcp.clients import HANDSHAKES, connected
from tests.readapi.mcp.conformance import rpc
from tests.readapi.music import Music, Reply, playing, track_id

pytestmark = pytest.mark.asyncio(loop_scope="module")

# The tools of plyrfm-mcp 0.0.1a25 and their arguments.
OF_PLYRFM = {
    "list_tracks": {"limit"},
    "get_track": {"track_id"},
    "my_tracks": {"limit"},
    "search": {"query", "type", "limit"},
    "top_tracks": {"limit"},
    "list_tags": {"q", "limit"},
    "tracks_by_tag": {"tag", "limit"},
    "liked_tracks": {"limit"},
    "list_revisions": {"track_id"},
    "list_playlists": set(),
    "get_playlist": {"playlist_id"},
    "playlists_by_artist": {"artist_did"},
    "playlist_recommendations": {"playlist_id", "limit"},
}
# Scenarios that ask for nothing but what a server has; the others want fixtures.
MEANT_HERE = {
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-error",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
}
ACCEPTED = {"Content_Type": "application/json", "Accept": "application/json"}


async def post(music: Music, message: str, **headers: str) -> Reply:
    return await music.send("POST", "/mcp", message.encode(), **{**ACCEPTED, **headers})


async def call(music: Music, name: str, headers: dict[str, str] | None = None, **arguments: Any) -> Any:
    """A tool's answer, in one message without any handshake: there is no session to begin."""
    message = rpc("tools/call", {"name": name, "arguments": arguments})
    return (await post(music, message, **(headers or {}))).json["result"]


async def test_scenarios_of_the_official_suite_pass(music):
    """Without sessions and streams."""
    done = await conformance.run(f"{music.address}/mcp", "--suite", "all")

    assert {name for name in MEANT_HERE if done[name][1] or not done[name][0]} == set()


@pytest.mark.parametrize("mode", HANDSHAKES)
async def test_the_official_client_finds_and_reads(music, mode):
    """By either handshake: instructions, tools with typed answers, resources and prompts."""
    async with connected(music.address, mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        found = await client.call_tool("search", {"query": "song", "type": "tracks", "limit": 1})
        [hit] = found.structured_content["results"]
        track = await client.call_tool("get_track", {"track_id": hit["id"]})
        interfaces = await client.read_resource("fmsvc://interfaces")
        me = await client.read_resource("fmsvc://me")
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        guide = await client.get_prompt("upload_guide")

        assert client.instructions == INSTRUCTIONS

    assert {
        name: set(tools[name].input_schema["properties"]) & wanted for name, wanted in OF_PLYRFM.items()
    } == (OF_PLYRFM)
    assert not {"like_track", "set_publishing"} & tools.keys()
    for tool in tools.values():
        assert tool.annotations.read_only_hint
        assert tool.description
        assert tool.output_schema["type"] == "object"
    assert track.structured_content["title"] == hit["title"]
    assert track.structured_content["page_url"] == f"{music.address}/track/{hit['id']}"
    assert f"{music.address}/openapi.json" in interfaces.contents[0].text
    assert me.contents[0].text.startswith("No account is connected.")
    assert prompts == {"upload_guide", "download_guide", "discover"}
    assert music.address in guide.messages[0].content.text


async def test_lists_are_paged_by_cursors(music):
    """Everything once, as the API lists it."""
    seen, cursor = [], None
    while True:
        page = (await call(music, "list_tracks", limit=4, cursor=cursor))["structuredContent"]
        seen += [track["id"] for track in page["tracks"]]
        cursor = page["next_cursor"]
        if not page["has_more"]:
            break

    told = (await music.get("/tracks/?limit=100")).json["tracks"]
    assert seen == [track["id"] for track in told]


async def test_every_public_tool_answers(music):
    """With what its route says."""
    track, playlist = (
        track_id("mara", 1),
        (await music.get(f"/lists/playlists/by-artist/{did('ben')}")).json[0],
    )
    album = (await music.get("/albums/")).json["albums"][0]
    tracks = (await music.get("/tracks/?limit=100")).json["tracks"]
    said = next(one["id"] for one in tracks if one["comment_count"])
    asked: dict[str, tuple[dict[str, Any], str]] = {
        "top_tracks": ({"limit": 3, "period": "all_time"}, "tracks"),
        "list_tags": ({"q": "amb"}, "tags"),
        "tracks_by_tag": ({"tag": "a/b", "limit": 2}, "tracks"),
        "playlists_by_artist": ({"artist_did": did("ben")}, "playlists"),
        "get_playlist": ({"playlist_id": playlist["id"]}, "tracks"),
        "list_albums": ({"artist": "mara.example"}, "albums"),
        "get_album": ({"album_id": album["id"]}, "tracks"),
        "track_comments": ({"track_id": said}, "comments"),
    }
    for name, (arguments, member) in asked.items():
        told = await call(music, name, **arguments)
        assert told["structuredContent"][member], (name, told)

    assert (await call(music, "get_artist", artist="mara.example"))["structuredContent"]["did"] == did("mara")
    assert (await call(music, "get_stats"))["structuredContent"]["total_albums"] == 1
    by_uri = await call(music, "get_track", track_id=str(uri("mara", "track", 1)))
    assert by_uri["structuredContent"]["id"] == track
    proof = (await call(music, "track_proof", track_id=track))["structuredContent"]
    assert proof["verify_with"] == f"fmsvc verify {uri('mara', 'track', 1)}"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("get_track", {"track_id": 1}, "There is no such track. (not_found, request "),
        ("get_track", {"track_id": 1}, "Check the id with `search`"),
        ("list_tracks", {"cursor": "x"}, "Call again without a cursor"),
        ("my_tracks", {}, "adds the header `Authorization: Bearer …`"),
        ("set_publishing", {"track_id": 1, "settings": {}}, "settings.access"),
        ("like_track", {"track_id": 1}, "adds the header `Authorization: Bearer …`"),
        ("get_playlist", {"playlist_id": "../../metrics"}, "playlist_id"),
        ("get_artist", {"artist": "../../metrics"}, "There is no such artist."),
        ("tracks_by_tag", {"tag": "../../metrics"}, "(not_found, request "),
        ("list_tracks", {"artist_did": "x&sort=popular"}, "artist_did"),
        ("no_such_tool", {}, "no_such_tool"),
        (
            "search",
            {"query": "x", "limit": 99},
            "`limit`: Input should be less than or equal to 50. Correct the",
        ),
        ("search", {}, "`query`: Field required. Correct the named arguments and call again."),
        (
            "get_track",
            {"track_id": 0},
            "`track_id`: Input should be greater than 0, or: Input should be a valid string. Correct the",
        ),
    ],
)
async def test_errors_say_what_to_do_next(music, name, arguments, said):
    """As results that models read; no argument leads to another route."""
    told = await call(music, name, **arguments)

    assert told["isError"]
    assert said in told["content"][0]["text"]


async def test_only_messages_are_taken(music):
    """No streams, no sessions to end."""
    for method in ("GET", "DELETE"):
        reply = await music.send(method, "/mcp", Accept="text/event-stream")
        assert (reply.status, reply.headers["Allow"]) == (405, "POST")
    begun = await post(music, rpc("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}))
    listen = await post(music, rpc("subscriptions/listen"), Mcp_Protocol_Version="2026-07-28")

    assert "Mcp-Session-Id" not in begun.headers
    assert 400 <= listen.status < 500


async def test_many_messages_are_answered_at_once(music):
    """More than there are connections for tools."""
    told = await asyncio.gather(*(call(music, "get_stats") for _ in range(100)))

    assert {one["structuredContent"]["total_tracks"] for one in told} == {12}


@pytest_asyncio.fixture(loop_scope="module")
async def behind_proxy(tmp_path: Path) -> AsyncIterator[Music]:
    async with playing(tmp_path, rate_limit="10/minute", trusted_proxies=("127.0.0.1",)) as served:
        yield served


async def test_tools_are_counted_for_the_client_that_calls_them(behind_proxy):
    """A message and what its tool asks for; no loopback address is counted, or spared."""
    mine, others = {"X_Forwarded_For": "203.0.113.7"}, {"X_Forwarded_For": "203.0.113.8"}
    for _ in range(5):
        assert not (await call(behind_proxy, "get_stats", mine))["isError"]

    spent = await behind_proxy.get("/stats", **mine)
    refused = await post(behind_proxy, rpc("ping"), **mine)
    free = await behind_proxy.get("/stats", **others)
    direct = await behind_proxy.get("/stats")

    assert (spent.status, refused.status, free.status, direct.status) == (429, 429, 200, 200)
    assert free.headers["RateLimit-Remaining"] == "9"
    assert direct.headers["RateLimit-Remaining"] == "9"


async def test_a_tool_over_the_limit_says_how_long_to_wait(behind_proxy):
    """The message itself was the last request that was left."""
    mine = {"X_Forwarded_For": "203.0.113.7"}
    for _ in range(9):
        await behind_proxy.get("/stats", **mine)
    told = await call(behind_proxy, "get_stats", mine)

    assert told["isError"]
    assert re.search(r"Wait \d+ seconds before the next call", told["content"][0]["text"])


async def test_nobody_else_names_the_client_of_a_tool(music, behind_proxy):
    """The header counts on the worker's own socket alone."""
    first = await behind_proxy.get("/stats", **{CLIENT_HEADER: "198.51.100.1"})
    second = await behind_proxy.get("/stats", **{CLIENT_HEADER: "198.51.100.2"})

    assert int(second.headers["RateLimit-Remaining"]) == int(first.headers["RateLimit-Remaining"]) - 1
    assert inner.socket_of(music.settings.data_dir, "api-1").is_socket()


async def test_without_the_socket_only_tools_fail(tmp_path):
    """A folder with too long a name: the worker starts, and tools say that the API does not answer."""
    folder = tmp_path / ("x" * 60) / ("y" * 60)
    folder.mkdir(parents=True)
    app = web.AppRunner(web.Application())
    await app.setup()
    await inner.listen(app, inner.socket_of(folder, "api-1"))
    await app.cleanup()

    assert not inner.socket_of(folder, "api-1").exists()
