"""What whoever asks has: their own tracks, and those that they like."""

from typing import Annotated

import orjson
from pydantic import Field

from readapi import cursors, present
from readapi.answers import Answer
from readapi.cursors import Cursor, Limit
from readapi.endpoint import Routes
from readapi.errors import PdsRefused, PdsUnavailable, SessionExpired
from readapi.publishing.supporters import Supporters
from readapi.queries import library, social
from readapi.queries.library import Shelf
from readapi.search import Index, Sort
from readapi.spaces.finder import Finder
from readapi.viewer import SignedIn
from schemas.api.tracks import OwnTrackPage

routes = Routes("tracks")

Words = Annotated[str, Field(max_length=100, description="Only tracks of which all these words are told.")]


@routes.get("/tracks/me", raises=(SessionExpired,))
async def own_tracks(
    index: Index,
    who: SignedIn,
    supporters: Supporters,
    finder: Finder,
    q: Words = "",
    sort: Sort = "recent",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Answer[OwnTrackPage]:
    """List your own tracks, those too that nobody else may see; also those in your private Space."""
    order, private, incomplete = f"mine.{sort}", [], None
    try:
        private = await finder.own(who)
    except (PdsUnavailable, PdsRefused) as error:
        incomplete = error.message
    shelf = library.own(index, who.viewer, q, sort, cursors.read(cursor, order), limit, private)
    return await _page(index, who, supporters, shelf, order, incomplete)


@routes.get("/tracks/liked")
async def tracks_liked(
    index: Index,
    who: SignedIn,
    supporters: Supporters,
    q: Words = "",
    sort: Sort = "recent",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Answer[OwnTrackPage]:
    """List the tracks that you like, the last liked first."""
    order = f"likes.{sort}"
    shelf = library.liked(index, who.viewer, q, sort, cursors.read(cursor, order), limit)
    return await _page(index, who, supporters, shelf, order)


async def _page(
    index: Index,
    who: SignedIn,
    supporters: Supporters,
    shelf: Shelf,
    order: str,
    incomplete: str | None = None,
) -> Answer[OwnTrackPage]:
    cards = shelf.page.items
    viewer = await supporters.among(who.viewer, cards)
    return present.answer(
        present.record(
            tracks=present.tracks(cards, viewer, social.liked(index, cards, viewer)),
            total=b"%d" % shelf.total,
            incomplete=orjson.dumps(incomplete),
            **present.rest(cursors.write(shelf.page.after, order)),
        )
    )
