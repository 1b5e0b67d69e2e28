"""For search engines: robots.txt and the site maps."""

from typing import Annotated

from pydantic import Field

from readapi.answers import XML, Answer
from readapi.errors import NotFound
from readapi.http.endpoint import Routes
from readapi.index.queries import sitemap
from readapi.index.snapshots.interface import Snapshots
from readapi.pages.public import sitemap as rendering
from readapi.pages.urls import Addresses
from readapi.state.publishing.profile_visibility import ProfileVisibility

routes = Routes("pages")

TEXT = "text/plain; charset=utf-8"
Part = Annotated[int, Field(ge=0, lt=sitemap.MOST_PARTS, description="Which part.")]


@routes.get("/robots.txt", media_types=("text/plain",), described=False)
def robots(addresses: Addresses) -> Answer[str]:
    """Tell programs which addresses to leave alone."""
    return Answer(rendering.render_robots(addresses), TEXT)


@routes.get("/sitemap.xml", media_types=("text/xml",), described=False)
async def sitemap_index(catalog: Snapshots, addresses: Addresses) -> Answer[str]:
    """List the site maps."""
    return Answer(rendering.render_index(await sitemap.count_parts(catalog), addresses), XML)


@routes.get("/sitemaps/pages.xml", media_types=("text/xml",), described=False)
def sitemap_of_pages(addresses: Addresses) -> Answer[str]:
    """List the pages that are about no record."""
    return Answer(rendering.render_pages(addresses), XML)


@routes.get(
    "/sitemaps/tracks/{part:[0-9]+}.xml", media_types=("text/xml",), described=False, raises=(NotFound,)
)
async def sitemap_of_tracks(part: Part, catalog: Snapshots, addresses: Addresses) -> Answer[str]:
    """List pages of public tracks."""
    return Answer(rendering.render_tracks(await sitemap.find_tracks(catalog, part), addresses), XML)


@routes.get(
    "/sitemaps/artists/{part:[0-9]+}.xml", media_types=("text/xml",), described=False, raises=(NotFound,)
)
async def sitemap_of_artists(part: Part, catalog: Snapshots, addresses: Addresses) -> Answer[str]:
    """List pages of artists."""
    return Answer(rendering.render_artists(await sitemap.find_artists(catalog, part), addresses), XML)


@routes.get(
    "/sitemaps/albums/{part:[0-9]+}.xml", media_types=("text/xml",), described=False, raises=(NotFound,)
)
async def sitemap_of_albums(part: Part, catalog: Snapshots, addresses: Addresses) -> Answer[str]:
    """List pages of albums."""
    return Answer(rendering.render_albums(await sitemap.find_albums(catalog, part), addresses), XML)


@routes.get(
    "/sitemaps/playlists/{part:[0-9]+}.xml", media_types=("text/xml",), described=False, raises=(NotFound,)
)
async def sitemap_of_playlists(
    part: Part, catalog: Snapshots, showing: ProfileVisibility, addresses: Addresses
) -> Answer[str]:
    """List pages of playlists that profiles show."""
    found = await sitemap.find_playlists(catalog, showing, part)
    return Answer(rendering.render_playlists(found, addresses), XML)
