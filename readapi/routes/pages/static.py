"""Style sheets, scripts and images of the pages."""

from readapi.answers import Answer
from readapi.errors import NotFound
from readapi.http.endpoint import Routes
from readapi.pages.assets import Assets

routes = Routes("pages")

# Other origins may load them: a sandboxed frame is one.
_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
_TYPES = ("text/css", "text/javascript", "image/svg+xml", "image/png", "image/x-icon")


@routes.get("/static/{name}", media_types=_TYPES, raises=(NotFound,))
def static_file(name: str, assets: Assets) -> Answer[str]:
    """Return a static file. Its name changes with its content."""
    asset = assets.find(name)
    if asset is None:
        raise NotFound
    return Answer(asset.body, asset.content_type, headers=_HEADERS)
