"""The server of tools: an error of a tool is not told as one of its caller."""

import pytest
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import TypeAdapter

from fmsvc.mcp.server import Server


def count_plays(track_id: int) -> int:
    """A tool that reads an answer which is no number."""
    return TypeAdapter(int).validate_python(f"unread {track_id}")


@pytest.mark.parametrize(
    ("arguments", "is_of_caller"), [({"track_id": "many"}, True), ({}, True), ({"track_id": 1}, False)]
)
async def test_only_refused_arguments_are_the_callers(arguments, is_of_caller):
    server = Server("fmsvc")
    server.add_tool(count_plays)

    with pytest.raises(ToolError) as raised:
        await server.call_tool("count_plays", arguments)

    assert ("Correct the named arguments" in str(raised.value)) is is_of_caller
