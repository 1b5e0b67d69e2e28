"""The table of operations names what exists, and everything that exists, in each of its columns."""

import inspect
import runpy
from pathlib import Path
from typing import Any

import pytest

from fmsvc import AsyncClient, Client
from fmsvc.cli.commands import COMMANDS
from fmsvc.mcp.guides import DOWNLOAD, UPLOAD
from fmsvc.operations import LOCAL_COMMANDS, LOCAL_METHODS, OPERATIONS, Missing
from tests.fmsvc.mcp.offered import every_tool

ROOT = Path(__file__).parents[2]
PAGE: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "clients.py"))


def named(column: str) -> set[str]:
    """The names of a column."""
    cells = (getattr(operation, column) for operation in OPERATIONS.values())
    return {cell for cell in cells if not isinstance(cell, Missing)}


def methods_of(client: Client | AsyncClient) -> set[str]:
    """Every public method of the client and of its namespaces; those that iterate stand beside a list."""
    found = set()
    for name, member in inspect.getmembers(client):
        if name.startswith("_"):
            continue
        inner = [("", member)] if callable(member) else inspect.getmembers(member, callable)
        found |= {
            f"{name}.{method}".rstrip(".") for method, _ in inner if not method.startswith(("_", "iterate"))
        }
    return found


def test_every_operation_has_a_name_or_a_reason_in_each_column():
    described = PAGE["described_routes"]()

    assert set(OPERATIONS) == set(described)
    for name, operation in OPERATIONS.items():
        for cell in operation:
            assert cell, name
            assert not isinstance(cell, Missing) or cell.endswith("."), name


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_methods_are_those_of_the_client(client: type[Client] | type[AsyncClient]):
    methods = methods_of(client(api_url="https://api.test", token=""))

    assert named("method") | LOCAL_METHODS.keys() == methods
    assert not named("method") & LOCAL_METHODS.keys()


def test_commands_are_those_of_the_command_line():
    assert named("command") | LOCAL_COMMANDS.keys() == COMMANDS.keys()


async def test_tools_are_those_of_the_server():
    assert named("tool") == {tool.name for tool in await every_tool()}


def test_the_page_is_made_from_the_table():
    assert (ROOT / "docs" / "clients.md").read_text() == PAGE["page"](), "run make clients"


def test_guides_name_commands_that_exist():
    """What an assistant is told to propose."""
    lines = [line for line in f"{UPLOAD}\n{DOWNLOAD}".splitlines() if line.startswith("fmsvc ")]

    assert lines
    assert {" ".join(line.split()[1:3]) for line in lines} <= COMMANDS.keys()
