"""The home page, and the lists of all music: the most liked, the newest, tags, and the tracks with one."""

from typing import Annotated

from pydantic import Field

from readapi.answers import HTML, Answer
from readapi.errors import NotFound
from readapi.http.endpoint import Routes
from readapi.http.supporters import Supporters
from readapi.http.viewer import SignedIn, viewer_of
from readapi.index import cursors
from readapi.index.cursors import Cursor
from readapi.index.lookups import Index
from readapi.index.queries import tags
from readapi.index.queries.top import Period
from readapi.index.snapshots.interface import Snapshots
from readapi.pages import responses
from readapi.pages.public import browsing_views
from readapi.pages.public.adult import shows_adult
from readapi.pages.public.browsing import MOST_TAGS, Browsing
from readapi.pages.render import Renderer
from readapi.state.state import State

routes = Routes("pages")

_NEW = "page of new tracks"
_TAG = "page of a tag"
_TOP = "page of the most liked"


@routes.get("/", media_types=(HTML,))
async def home(
    index: Index,
    catalog: Snapshots,
    supporters: Supporters,
    state: State,
    who: SignedIn | None,
    renderer: Renderer,
) -> Answer[str]:
    """Show the home page: a search, the most liked and the newest tracks, tags and totals."""
    browsing = await _browsing(index, catalog, supporters, state, who)
    found = await browsing.home()
    return responses.public_page(
        renderer, "home.html", browsing_views.of_home(found, renderer.addresses), who
    )


@routes.get("/top", media_types=(HTML,))
async def top_page(
    index: Index,
    catalog: Snapshots,
    supporters: Supporters,
    state: State,
    who: SignedIn | None,
    renderer: Renderer,
    period: Period = "week",
    cursor: Cursor = None,
) -> Answer[str]:
    """Show the most liked tracks of a period, the first hundred on pages of twenty."""
    (passed,) = cursors.decode_cursor(cursor, _TOP, int) or (0,)
    browsing = await _browsing(index, catalog, supporters, state, who)
    found, following = await browsing.top(period, passed)
    after = None if following is None else cursors.encode_cursor(_TOP, following)
    view = browsing_views.of_top(found, period, after, cursor, renderer.addresses)
    return responses.public_page(renderer, "browse.html", view, who)


@routes.get("/new", media_types=(HTML,))
async def new_page(
    index: Index,
    catalog: Snapshots,
    supporters: Supporters,
    state: State,
    who: SignedIn | None,
    renderer: Renderer,
    cursor: Cursor = None,
) -> Answer[str]:
    """Show the newest tracks."""
    browsing = await _browsing(index, catalog, supporters, state, who)
    found, after = await browsing.newest(cursors.read_position(cursor, _NEW))
    view = browsing_views.of_new(found, cursors.write_cursor(after, _NEW), cursor, renderer.addresses)
    return responses.public_page(renderer, "browse.html", view, who)


@routes.get("/tag/{name:.+}", media_types=(HTML,), raises=(NotFound,))
async def tag_page(
    name: str,
    index: Index,
    catalog: Snapshots,
    supporters: Supporters,
    state: State,
    who: SignedIn | None,
    renderer: Renderer,
    cursor: Cursor = None,
) -> Answer[str]:
    """Show the tracks with a tag, newest first."""
    tag = tags.find_tag(index, name)
    browsing = await _browsing(index, catalog, supporters, state, who)
    found, after = await browsing.newest(cursors.read_position(cursor, _TAG), tag=name)
    view = browsing_views.of_tag(tag, found, cursors.write_cursor(after, _TAG), cursor, renderer.addresses)
    return responses.public_page(renderer, "browse.html", view, who)


@routes.get("/tags", media_types=(HTML,))
async def tags_page(
    catalog: Snapshots,
    who: SignedIn | None,
    renderer: Renderer,
    beginning: Annotated[str, Field(max_length=100, description="How the tag begins.")] = "",
) -> Answer[str]:
    """Show the most used tags."""
    found, _ = await tags.count_tags(catalog, beginning, MOST_TAGS)
    view = browsing_views.of_tags(found, beginning, renderer.addresses)
    return responses.public_page(renderer, "tags.html", view, who)


async def _browsing(
    index: Index, catalog: Snapshots, supporters: Supporters, state: State, who: SignedIn | None
) -> Browsing:
    """The lists as this account, or a stranger, is shown them."""
    return Browsing(index, catalog, supporters, viewer_of(who), adult=await shows_adult(state, who))
