"""The signed-in account's own tracks, and the tracks that it likes."""

from typing import Annotated

import orjson
from pydantic import Field

from readapi.answers import Answer
from readapi.errors import PdsRefused, PdsUnavailable, SessionExpired
from readapi.http.endpoint import Routes
from readapi.http.supporters import Supporters
from readapi.http.viewer import SignedIn
from readapi.index import cursors, present
from readapi.index.cursors import Cursor, Limit
from readapi.index.lookups import Index, Sort
from readapi.index.queries import library, social
from readapi.index.queries.library import LibraryPage
from readapi.spaces.find_track import SpaceTrackFinder
from schemas.api.tracks import OwnTrackPage

routes = Routes("tracks")

Words = Annotated[str, Field(max_length=100, description="Only tracks that have all of these words.")]


@routes.get("/tracks/me", raises=(SessionExpired,))
async def own_tracks(
    index: Index,
    who: SignedIn,
    supporters: Supporters,
    finder: SpaceTrackFinder,
    q: Words = "",
    sort: Sort = "recent",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Answer[OwnTrackPage]:
    """List your own tracks: public, unlisted and private ones, and those in your private Space."""
    order, private, incomplete = f"mine.{sort}", [], None
    try:
        private = await finder.own(who)
    except (PdsUnavailable, PdsRefused) as error:
        incomplete = error.message
    shelf = library.own_tracks(
        index, who.viewer, q, sort, cursors.read_position(cursor, order), limit, private
    )
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
    """List the tracks that you like, newest like first."""
    order = f"likes.{sort}"
    shelf = library.liked_tracks(index, who.viewer, q, sort, cursors.read_position(cursor, order), limit)
    return await _page(index, who, supporters, shelf, order)


async def _page(
    index: Index,
    who: SignedIn,
    supporters: Supporters,
    shelf: LibraryPage,
    order: str,
    incomplete: str | None = None,
) -> Answer[OwnTrackPage]:
    cards = shelf.page.items
    viewer = await supporters.among(who.viewer, cards)
    return present.make_answer(
        present.render_object(
            tracks=present.render_tracks(cards, viewer, social.liked_keys(index, cards, viewer)),
            total=b"%d" % shelf.total,
            incomplete=orjson.dumps(incomplete),
            **present.rest_members(cursors.write_cursor(shelf.page.after, order)),
        )
    )
