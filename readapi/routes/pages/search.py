"""The page of a search, at the address of its JSON: browsers get this one."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from readapi.answers import HTML, Answer
from readapi.http.endpoint import Routes
from readapi.http.viewer import SignedIn
from readapi.index import cursors
from readapi.index.cursors import Cursor
from readapi.index.lookups import Index
from readapi.index.queries.identifiers import DidName
from readapi.index.search import execute
from readapi.index.search.execute import Search
from readapi.index.search.matches import Sort
from readapi.index.search.parameters import KINDS, ORDER, Types
from readapi.pages import responses
from readapi.pages.public import found
from readapi.pages.public.adult import shows_adult
from readapi.pages.render import Renderer
from readapi.state.state import State

routes = Routes("pages")


@routes.get("/search/", media_types=(HTML,), by_accept=True, prompt=True)
async def search_page(
    index: Index,
    state: State,
    who: SignedIn | None,
    renderer: Renderer,
    q: Annotated[str, Field(max_length=100, description="What to look for.")] = "",
    type: Types = tuple(KINDS),
    tag: Annotated[str | None, Field(max_length=200, description="Only results with this tag.")] = None,
    artist_did: DidName | None = None,
    sort: Sort = "relevance",
    cursor: Cursor = None,
) -> Answer[str]:
    """Show what a search finds, by kind; without a text, the form."""
    text = q.strip()
    if len(text) < found.FEWEST_LETTERS:
        return responses.public_page(
            renderer, "search.html", found.of_no_search(text, renderer.addresses), who
        )
    wanted = Search(text, [KINDS[name] for name in type], sort, tag or None, artist_did)
    wanted = replace(wanted, adult=await shows_adult(state, who))
    limit = found.OF_ONE if len(wanted.kinds) == 1 else found.OF_EACH
    results = execute.execute_search(index, wanted, cursors.read_text(cursor, ORDER), limit)
    after = None if results.after is None else cursors.encode_cursor(ORDER, results.after)
    view = found.of_found(wanted, results, after, cursor, index, renderer.addresses)
    return responses.public_page(renderer, "search.html", view, who)
