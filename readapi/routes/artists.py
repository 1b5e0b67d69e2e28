"""Artists, and what they like."""

import orjson

from readapi import cursors, present
from readapi.answers import Answer
from readapi.cursors import Cursor, Limit
from readapi.endpoint import Routes
from readapi.queries import artists, people, social
from readapi.queries.names import ArtistName
from readapi.search import Index
from schemas.access import Viewer
from schemas.api.artists import Artist
from schemas.api.tracks import LikedTrackPage

routes = Routes("artists")


@routes.get("/artists/{artist}")
async def get_artist(artist: ArtistName, index: Index) -> Answer[Artist]:
    """Return somebody's profile."""
    return Answer(artists.find(index, artist).card)


@routes.get("/users/{handle}/likes")
async def liked_tracks(
    handle: ArtistName, index: Index, viewer: Viewer | None, limit: Limit = 50, cursor: Cursor = None
) -> Answer[LikedTrackPage]:
    """List the tracks that somebody likes, newest like first; of others' only the public ones."""
    user = artists.find(index, handle)
    page = index.liked_page(user.did, cursors.read(cursor, "liked"), limit)
    return present.answer(
        present.record(
            user=orjson.dumps(people.person(user.did, user)),
            tracks=present.tracks(page.items, viewer, social.liked(index, page.items, viewer)),
            count=b"%d" % index.liked_count(user.did),
            **present.rest(cursors.write(page.after, "liked")),
        )
    )
