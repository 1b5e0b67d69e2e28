"""The API description in short: its routes under their headings, for browsers that run no scripts."""

from dataclasses import dataclass

import orjson


@dataclass(frozen=True, slots=True)
class Route:
    """One line of the list."""

    path: str
    summary: str


def sections(openapi: bytes) -> dict[str, list[Route]]:
    """Every route that can be read, by its tag, in the order of the description."""
    found: dict[str, list[Route]] = {}
    for path, operations in orjson.loads(openapi)["paths"].items():
        if reading := operations.get("get"):
            found.setdefault(reading["tags"][0], []).append(Route(path, reading["summary"]))
    return found
