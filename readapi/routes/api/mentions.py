"""The search for what editors can mention, by a lexicon that several editors share."""

from typing import Annotated, Any

import orjson
from pydantic import Field

from readapi.answers import Answer, render_json
from readapi.errors import InvalidRequest
from readapi.http.endpoint import Routes
from readapi.http.response.xrpc import PREFIX
from readapi.index.lookups import Index
from readapi.index.queries.identifiers import AtUriName
from readapi.index.search import execute
from readapi.index.search.execute import Search
from readapi.index.search.parameters import KINDS
from readapi.pages.public.mentions import Mentions
from readapi.pages.urls import Addresses
from schemas.ids import is_did

routes = Routes("search")

LEAST_LETTERS = 2

Typed = Annotated[str, Field(max_length=100, description="What was typed so far.")]
Limit = Annotated[int, Field(ge=1, le=50, description="How many results at most.")]
Scope = Annotated[
    str | None,
    Field(
        max_length=2048,
        description="tracks, artists, albums, playlists or tags; or an artist's DID: their tracks.",
    ),
]


@routes.get(f"{PREFIX}parts.page.mention.search", described=False)
def search_mentions(
    service: AtUriName,
    search: Typed,
    index: Index,
    addresses: Addresses,
    scope: Scope = None,
    limit: Limit = 20,
) -> Answer[Any]:
    """Search what can be mentioned: tracks, artists, albums, playlists and tags.

    The answer has the shape of the lexicon `parts.page.mention.search`. `service` names the record by which
    an editor found this service; there is one search, whichever it is.
    """
    if scope is not None and scope not in KINDS and not is_did(scope):
        raise InvalidRequest.of_field("scope", f"It must be a DID or one of {', '.join(KINDS)}.")
    typed = search.strip()
    if len(typed) < LEAST_LETTERS:
        return Answer(render_json({"results": []}))
    artist = scope if scope is not None and scope not in KINDS else None
    names = ["tracks"] if artist else [scope] if scope else list(KINDS)
    wanted = Search(typed, [KINDS[name] for name in names], "relevance", None, artist, False)
    found = [orjson.loads(result) for result in execute.execute_search(index, wanted, None, limit).results]
    mentions = Mentions(index, addresses)
    shown = [mention for result in found[:limit] if (mention := mentions.describe(result)) is not None]
    return Answer(render_json({"results": shown}))
