"""The API's documentation as a page, on which requests can be tried."""

from dataclasses import dataclass

import orjson

from readapi.answers import HTML, Answer
from readapi.http.endpoint import Routes
from readapi.http.openapi.document import Description
from readapi.pages import security_headers
from readapi.pages.render import Renderer

routes = Routes("meta")


@routes.get("/docs", media_types=(HTML,))
async def docs(description: Description, renderer: Renderer) -> Answer[str]:
    """Show the API reference, where requests can be tried."""
    page = renderer.page("docs.html", sections=list_sections(await description.json()))
    return Answer(page, HTML, headers=security_headers.docs_headers())


@dataclass(frozen=True, slots=True)
class Route:
    """One line of the list of operations."""

    path: str
    summary: str


def list_sections(openapi: bytes) -> dict[str, list[Route]]:
    """All readable routes, by tag, in the order of the description."""
    found: dict[str, list[Route]] = {}
    for path, operations in orjson.loads(openapi)["paths"].items():
        if reading := operations.get("get"):
            found.setdefault(reading["tags"][0], []).append(Route(path, reading["summary"]))
    return found
