"""The icons and the manifest of the site, and the drawn pictures of its pages in link previews."""

import asyncio

import orjson

from readapi.answers import Answer
from readapi.http.endpoint import Routes
from readapi.pages.assets import Assets
from readapi.pages.public.drawn_picture import draw_picture
from readapi.pages.public.metadata import SITE_NAME

routes = Routes("pages")

MANIFEST = "application/manifest+json"  # https://www.w3.org/TR/appmanifest/
_HEADERS = {"Cache-Control": "public, max-age=86400", "Cross-Origin-Resource-Policy": "cross-origin"}


@routes.get("/favicon.ico", media_types=("image/x-icon",), described=False)
def favicon(assets: Assets) -> Answer[str]:
    """Return the icon for browsers that draw no SVG."""
    return _icon(assets, "favicon.ico")


@routes.get("/apple-touch-icon.png", media_types=("image/png",), described=False)
def touch_icon(assets: Assets) -> Answer[str]:
    """Return the icon for home screens."""
    return _icon(assets, "apple-touch-icon.png")


@routes.get("/preview/{seed:[0-9a-f]+}.png", media_types=("image/png",), described=False)
async def preview(seed: str) -> Answer[str]:
    """Return the picture in link previews of the page that names it, which has none of its own."""
    drawn = await asyncio.to_thread(draw_picture, seed)
    return Answer(drawn, "image/png", headers=_HEADERS)


@routes.get("/site.webmanifest", media_types=(MANIFEST,), described=False)
def manifest(assets: Assets) -> Answer[str]:
    """Say how the site is installed as an application."""
    described = {
        "name": SITE_NAME,
        "short_name": SITE_NAME,
        "description": "Music on the AT Protocol network",
        "id": "/",
        "start_url": "/",
        "scope": "/",
        "display": "minimal-ui",
        "lang": "en",
        "background_color": "#fdfcfa",
        "theme_color": "#0d5c54",
        "icons": [
            {"src": assets["icon.svg"], "sizes": "any", "type": "image/svg+xml"},
            {"src": "/apple-touch-icon.png", "sizes": "180x180", "type": "image/png"},
        ],
    }
    return Answer(orjson.dumps(described), MANIFEST, headers=_HEADERS)


def _icon(assets: Assets, name: str) -> Answer[str]:
    found = assets.find(assets[name].removeprefix("/static/"))
    assert found is not None, "each address leads to its file"
    return Answer(found.body, found.content_type, headers=_HEADERS)
