"""Search over everything."""

from typing import Annotated

from pydantic import Field

from readapi.answers import Answer
from readapi.http.endpoint import Routes
from readapi.index import cursors, present
from readapi.index.cursors import Cursor
from readapi.index.lookups import Index
from readapi.index.queries.identifiers import DidName
from readapi.index.queries.tracks import Adult
from readapi.index.search import execute, suggest
from readapi.index.search.execute import Search
from readapi.index.search.matches import Sort
from readapi.index.search.parameters import KINDS, ORDER, Text, Types
from schemas.api.search import SearchPage, Suggestions

routes = Routes("search")

Limit = Annotated[int, Field(ge=1, le=50, description="The maximum number of results of each type.")]


@routes.get("/search/", by_accept=True)
def search(
    q: Text,
    index: Index,
    type: Types = tuple(KINDS),
    tag: Annotated[str | None, Field(max_length=200, description="Only results with this tag.")] = None,
    artist_did: DidName | None = None,
    sort: Sort = "relevance",
    limit: Limit = 20,
    cursor: Cursor = None,
    explain: Annotated[bool, Field(description="Say of each result why it is there.")] = False,
    adult: Adult = False,
) -> Answer[SearchPage]:
    """Search tracks, artists, albums, playlists and tags by name, words and prefixes, with typo tolerance.

    `counts` are totals of every type, whichever were requested. Unlisted tracks are included, private ones
    never.
    """
    wanted = Search(q, [KINDS[name] for name in type], sort, tag, artist_did, explain, adult)
    found = execute.execute_search(index, wanted, cursors.read_text(cursor, ORDER), limit)
    following = None if found.after is None else cursors.encode_cursor(ORDER, found.after)
    return present.make_answer(
        present.render_object(
            results=present.render_array(found.results),
            counts=present.render_object(
                **{name: b"%d" % found.counts[kind] for name, kind in KINDS.items()}
            ),
            **present.rest_members(following),
        )
    )


@routes.get("/search/suggest")
async def suggest_names(q: Text, index: Index) -> Answer[Suggestions]:
    """Names that begin or go on as typed: the first ten that a search of all types would find, each once."""
    return present.make_answer(
        present.render_object(suggestions=present.render_array(suggest.suggest_names(index, q)))
    )
