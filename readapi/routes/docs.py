"""The interface's description, to be read and tried by people."""

from readapi.answers import HTML, Answer
from readapi.endpoint import Routes
from readapi.openapi import Description
from readapi.pages import contents, policy
from readapi.pages.render import Renderer

routes = Routes("meta")


@routes.get("/docs", media_types=(HTML,))
async def docs(description: Description, renderer: Renderer) -> Answer[str]:
    """Show this interface, and let it be tried."""
    page = renderer.page("docs.html", sections=contents.sections(await description.json()))
    return Answer(page, HTML, headers=policy.docs_headers())
