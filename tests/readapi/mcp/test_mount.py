"""An MCP server mounted in the API: the protocol passes, hosts and tokens are checked, streams are quiet."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientResponse

from readapi.errors import NotAuthenticated, SessionExpired
from readapi.http.asgi import StreamLimits
from readapi.http.viewer import Requester
from tests.indexer.running import until
from tests.readapi.mcp import conformance, mounted
from tests.readapi.mcp.clients import HANDSHAKES, connected
from tests.readapi.mcp.conformance import rpc
from tests.readapi.site import Site

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    # The suite tests features that the newest revision deprecates.
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

BEGIN = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
JSON_SENT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened() -> AsyncIterator[Site]:
    async with mounted.mounting(streams=StreamLimits(of_one=64)) as site:
        yield site


async def post(opened: Site, message: str, **headers: str) -> ClientResponse:
    assert opened.client is not None
    named = JSON_SENT | {name.replace("_", "-"): value for name, value in headers.items()}
    return await opened.client.post(f"{opened.address}/mcp", data=message, headers=named)


@pytest.mark.slow
async def test_the_official_suite_passes(opened):
    """Every scenario, with sessions and streams. One is about streams that the server closes: none does."""
    done = await conformance.run(f"{opened.address}/mcp", "--suite", "all")

    assert len(done) == 32
    assert {name: failed for name, (_, failed) in done.items() if failed} == {}
    assert {name for name, (passed, _) in done.items() if not passed} == {"server-sse-polling"}


@pytest.mark.parametrize("mode", HANDSHAKES)
async def test_both_handshakes_of_the_official_client_work(opened, mode):
    """The one that initializes a session, and the one that discovers."""
    async with connected(opened.address, mode) as client:
        answer = await client.call_tool("test_simple_text", {})

        assert (client.protocol_version >= "2026") is (mode == "auto")
        assert answer.content[0].text == "This is a simple text response for testing."


async def test_an_idle_stream_costs_nothing_and_stands_in_nobodys_way(opened):
    """A tool that never answers: meanwhile other requests are answered and the process rests."""
    streaming = await post(opened, rpc("tools/call", {"name": "idle"}), **await session(opened))
    listening = await opened.send("GET", "/mcp", Accept="text/event-stream", **await session(opened))
    try:
        assert (streaming.content_type, listening.content_type) == ("text/event-stream", "text/event-stream")
        async with opened.get("/beside") as answer:
            assert await answer.json() == "here"

        wall, spent = time.monotonic(), time.process_time()
        await asyncio.sleep(1)
        share = (time.process_time() - spent) / (time.monotonic() - wall)
    finally:
        streaming.close()
        listening.close()

    assert share < 0.15


async def session(opened: Site) -> dict[str, str]:
    """The headers of a new session."""
    begun = await post(opened, rpc("initialize", BEGIN))
    await begun.read()
    named = {"Mcp_Session_Id": begun.headers["Mcp-Session-Id"], "Mcp_Protocol_Version": "2025-11-25"}
    await (await post(opened, rpc("notifications/initialized", number=None), **named)).read()
    return named


async def test_a_client_that_leaves_ends_its_stream():
    """And what worked for it, so that nothing is left over."""
    streams = StreamLimits()
    async with mounted.mounting(streams=streams) as opened:
        streaming = await post(opened, rpc("tools/call", {"name": "idle"}), **await session(opened))
        assert streams.open == 1
        streaming.close()
        await until(lambda: not streams.open)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example.com"},
        {"Host": "evil.example.com", "Origin": "http://evil.example.com"},
        {"Origin": "http://evil.example.com"},
        {"Origin": "null"},
    ],
)
async def test_other_names_and_pages_are_refused(opened, headers):
    """Before the body is read, in the one error shape."""
    answer = await post(opened, rpc("initialize", BEGIN), **headers)

    assert (answer.status, (await answer.json())["detail"]) == (403, "foreign_origin")


async def test_operators_allow_further_names_and_pages():
    """By settings; browsers are told so before they send anything, and send no cookie."""
    ours = {"mcp_hosts": ("music.internal:8000",), "mcp_origins": ("https://chat.example",)}
    asking = {"Access_Control_Request_Method": "POST"}
    async with mounted.mounting(**ours) as opened:
        named = {"Host": "Music.internal:8000", "Origin": "https://chat.example"}
        answer = await post(opened, rpc("initialize", BEGIN), **named)
        preflight = await opened.send("OPTIONS", "/mcp", Origin="https://chat.example", **asking)
        stranger = await opened.send("OPTIONS", "/mcp", Origin="https://x.example", **asking)
        elsewhere = await opened.send("OPTIONS", "/beside", Origin="https://chat.example", **asking)

    assert answer.status == 200
    assert "POST" in preflight.headers["Access-Control-Allow-Methods"]
    assert {"Authorization", "Mcp-Protocol-Version"} <= set(
        preflight.headers["Access-Control-Allow-Headers"].split(", ")
    )
    assert "Access-Control-Allow-Credentials" not in preflight.headers
    for refused in (stranger, elsewhere):
        assert "POST" not in refused.headers["Access-Control-Allow-Methods"]
        assert "Authorization" not in refused.headers["Access-Control-Allow-Headers"]


@pytest.mark.parametrize(
    ("refusal", "detail"), [(NotAuthenticated(), "not_authenticated"), (SessionExpired(), "session_expired")]
)
async def test_a_token_that_is_not_valid_is_refused(refusal, detail, tmp_path):
    """With WWW-Authenticate: the client would otherwise take public answers for its own."""

    async def who_asks(_: Any) -> Requester:
        return Requester(None, refusal, by_cookie=False)

    async with mounted.mounting(who_asks=who_asks) as opened:
        answer = await post(opened, rpc("initialize", BEGIN), Authorization="Bearer x")

    assert (answer.status, (await answer.json())["detail"]) == (401, detail)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


async def test_a_body_that_is_too_large_is_refused(opened):
    """By the limit that holds for every route."""
    answer = await post(opened, rpc("ping", {"filling": "x" * (256 << 10)}))

    assert (answer.status, (await answer.json())["detail"]) == (413, "too_large")


@pytest.mark.parametrize("sent", ["", "{", "[]", "null", "{}", "[" * 100_000, '{"jsonrpc": "2.0"}', "\x00"])
async def test_what_is_no_message_is_refused(opened, sent):
    """In both revisions, in the protocol's words or ours, never as a failure."""
    for version in ("2025-11-25", "2026-07-28", "x"):
        answer = await post(opened, sent, Mcp_Protocol_Version=version)
        told = json.loads(await answer.text())

        assert 400 <= answer.status < 500, (version, told)
        assert "error" in told or "detail" in told


async def test_requests_are_counted_and_logged_as_others_are(opened):
    """Under the route's name, with a request id and what is left of the limit."""
    answer = await post(opened, rpc("ping", {"secret": "unwritten"}))
    opened.access_log.flush()
    lines = [json.loads(line) for line in opened.log.getvalue().splitlines()]

    assert int(answer.headers["RateLimit-Remaining"]) < 100_000
    assert {"method": "POST", "path": "/mcp"}.items() <= lines[-1].items()
    assert lines[-1]["request_id"] == answer.headers["X-Request-Id"]
    assert "unwritten" not in opened.log.getvalue()
    assert b'fmsvc_requests_total{route="/mcp",status="400"}' in opened.metrics.text()


async def test_a_server_that_cannot_be_made_is_an_internal_error():
    """For each message: none waits for ever."""

    def broken() -> Any:
        raise ImportError("no such library")

    async with mounted.mounting(broken) as opened:
        for _ in range(2):
            answer = await post(opened, rpc("initialize", BEGIN))
            assert (answer.status, (await answer.json())["detail"]) == (500, "internal")
