"""docs/mcp.md: its configurations are what clients read, and its tools those that there are."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from fmsvc.mcp import reading, run_stdio, writing
from readapi.http.response.headers import MCP_PATH

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "mcp.md").read_text()
CONFIGURATIONS = [
    json.loads(text) for text in re.findall(r"^```\n(\{.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
]


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_configurations_name_what_exists(configuration: dict[str, Any]):
    """A script that is installed, or the address of the route; a token in its place, and nowhere else."""
    [server] = (configuration.get("mcpServers") or configuration["servers"]).values()
    if "command" in server:
        scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
        assert (server["command"] in scripts, server["args"], callable(run_stdio)) == (True, ["mcp"], True)
        assert server["env"].keys() == {"FMSVC_API_URL", "FMSVC_TOKEN"}
    else:
        assert server["url"].endswith(MCP_PATH)
        assert server["headers"]["Authorization"].startswith("Bearer ")


def test_there_is_a_configuration_for_each_client():
    """Of both ways in."""
    assert len(CONFIGURATIONS) == 4
    assert all(name in PAGE for name in ("Claude Desktop", "Claude Code", "Cursor", "VS Code"))


def test_every_tool_is_named_for_its_callers():
    """And none that there is not."""
    rows = dict(re.findall(r"^\| (with(?:out)? a token[^|]*) \| (.*) \|$", PAGE, re.MULTILINE))
    told = {who.strip(): set(re.findall(r"`(\w+)`", names)) for who, names in rows.items()}

    assert told == {
        "without a token": {tool.__name__ for tool in reading.PUBLIC},
        "with a token": {tool.__name__ for tool in reading.OF_THE_CALLER},
        "with a token that grants it": {tool.__name__ for tool in writing.ALL},
    }
