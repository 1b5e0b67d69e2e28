"""The MCP server as a program: the official client over standard input and output."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from fmsvc.mcp.stdio import stdio_server
from tests.readapi.mcp.clients import HANDSHAKES
from tests.readapi.music import Music, playing

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRAM = ["-m", "fmsvc", "mcp"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def music(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Music]:
    async with playing(tmp_path_factory.mktemp("music")) as served:
        yield served


@asynccontextmanager
async def started(mode: str, **environment: str) -> AsyncIterator[Client]:
    """The program, and a client of it."""
    program = StdioServerParameters(command=sys.executable, args=PROGRAM, env=environment)
    async with Client(program, mode=mode) as client:
        yield client


@pytest.mark.parametrize("mode", HANDSHAKES)
@pytest.mark.slow
async def test_the_official_client_finds_and_reads(music, mode):
    """By either handshake, with the address from the environment."""
    async with started(mode, FMSVC_API_URL=music.address) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        found = await client.call_tool("search", {"query": "song"})
        own = await client.call_tool("my_tracks", {})
        me = await client.read_resource("fmsvc://me")

    assert {"search", "my_tracks"} <= tools
    assert "like_track" not in tools
    assert found.structured_content["counts"]["tracks"] > 0
    assert own.is_error
    assert "FMSVC_TOKEN" in own.content[0].text
    assert "FMSVC_TOKEN" in me.contents[0].text


async def test_a_token_that_is_not_valid_is_told(music):
    """Without its value, and without tools that it does not grant."""
    async with started("auto", FMSVC_API_URL=music.address, FMSVC_TOKEN="fmsvc_wrong") as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        own = await client.call_tool("my_tracks", {})

    assert "like_track" not in tools
    assert own.is_error
    assert "FMSVC_TOKEN" in own.content[0].text
    assert "fmsvc_wrong" not in own.content[0].text


async def test_a_service_that_is_away_is_told():
    """As a result, not by the end of the program."""
    async with started("auto", FMSVC_API_URL="http://127.0.0.1:9") as client:
        told = await client.call_tool("get_stats", {})

    assert told.is_error
    assert "The API does not answer" in told.content[0].text


async def test_without_an_address_it_says_which_variable_is_missing():
    """On standard error, and ends."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FMSVC_")}
    program = await asyncio.create_subprocess_exec(
        sys.executable, *PROGRAM, stdin=-3, stdout=-1, stderr=-1, env=environment
    )
    told, said = await program.communicate()

    assert program.returncode
    assert told == b""
    assert b"FMSVC_API_URL" in said


@pytest.mark.parametrize(
    ("environ", "address"),
    [
        ({"FMSVC_API_URL": "https://a.example/", "FMSVC_URL": "https://b.example"}, "https://a.example"),
        ({"FMSVC_URL": "http://b.example"}, "http://b.example"),
    ],
)
async def test_the_address_comes_from_the_environment(environ, address, monkeypatch):
    """Without the slash at its end."""
    for name in ("FMSVC_API_URL", "FMSVC_URL", "FMSVC_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    assert stdio_server().website_url == address
