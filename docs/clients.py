"""Prints docs/clients.md: which method, command and MCP tool serve each operation of the API."""

import json
from collections.abc import Iterator

from fmsvc.operations import LOCAL_COMMANDS, LOCAL_METHODS, OPERATIONS, Missing
from readapi.http.openapi.document import api_endpoints, describe_api
from readapi.processes.app import all_endpoints

HEAD = """# Operations, methods, commands and tools

Which method of `Client` and `AsyncClient`, which command of `fmsvc` and which tool for AI assistants serve
each operation of the API. Made from `fmsvc/operations.py` by `make clients`; tests compare it with the API,
the clients, the command line and the MCP server.

| operation | method | command | tool |
|---|---|---|---|
"""
NONE = "–"


def described_routes() -> dict[str, str]:
    """Operation id -> method and path, in the order of the description."""
    paths = json.loads(describe_api(api_endpoints(all_endpoints()), "https://api.example"))["paths"]
    return {
        operation["operationId"]: f"{method.upper()} {path}"
        for path, methods in paths.items()
        for method, operation in methods.items()
    }


def page() -> str:
    """The whole page."""
    routes = described_routes()
    return "".join(
        [
            HEAD,
            *(_row(routes[name], name) for name in routes if any(_served(name))),
            "\n## What serves no operation of its own\n\n",
            *(f"- `client.{name}`: {reason}\n" for name, reason in LOCAL_METHODS.items()),
            *(f"- `fmsvc {name}`: {reason}\n" for name, reason in LOCAL_COMMANDS.items()),
            "\nBeside each method that lists, `iterate…` gives the same one by one, page after page.\n",
            "\n## What is not served, and why\n\n",
            *_reasons(routes),
        ]
    )


def _served(name: str) -> list[bool]:
    return [not isinstance(cell, Missing) for cell in OPERATIONS[name]]


def _row(route: str, name: str) -> str:
    method, command, tool = OPERATIONS[name]
    cells = (route, method, f"fmsvc {command}" if _served(name)[1] else command, tool)
    return f"| {' | '.join(NONE if isinstance(cell, Missing) else f'`{cell}`' for cell in cells)} |\n"


def _reasons(routes: dict[str, str]) -> Iterator[str]:
    """Each reason, with the operations and columns that it is for."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, route in routes.items():
        missing = [
            column
            for column, served in zip(("method", "command", "tool"), _served(name), strict=True)
            if not served
        ]
        for column in ["nothing"] if len(missing) == 3 else missing:
            cell = getattr(OPERATIONS[name], "method" if column == "nothing" else column)
            found.setdefault((column, str(cell)), []).append(f"`{route}`")
    for (column, reason), named in found.items():
        what = "Nothing" if column == "nothing" else f"No {column}"
        yield f"- {what} for {', '.join(named)}. {reason}\n"


if __name__ == "__main__":
    print(page(), end="")
