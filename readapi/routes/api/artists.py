"""Artists, and the tracks that they like."""

from typing import Any

import orjson

from readapi.answers import Answer
from readapi.errors import Conflict
from readapi.http.endpoint import Routes
from readapi.http.supporters import Supporters
from readapi.http.viewer import SignedIn
from readapi.index import cursors, present
from readapi.index.cursors import Cursor, Limit
from readapi.index.lookups import Index
from readapi.index.queries import artists, social
from readapi.index.queries.identifiers import ArtistName
from readapi.index.queries.tracks import Adult
from readapi.pds.records import profiles
from readapi.pds.repo import REFUSALS
from readapi.pds.writing import Writing
from readapi.state.publishing.profile_visibility import ProfileVisibility
from schemas.access import Viewer
from schemas.api.artists import Artist, ProfileChange
from schemas.api.tracks import LikedTrackPage
from schemas.settings import Settings

routes = Routes("artists")


@routes.get("/artists/me")
async def own_profile(
    index: Index, who: SignedIn, showing: ProfileVisibility, settings: Settings
) -> Answer[Artist]:
    """Get your own profile."""
    return await _own(index, who, showing, settings)


@routes.put("/artists/me", requires=("profile",), raises=(Conflict, *REFUSALS))
async def put_profile(
    sent: ProfileChange,
    index: Index,
    who: SignedIn,
    showing: ProfileVisibility,
    settings: Settings,
    writing: Writing,
) -> Answer[Artist]:
    """Create your artist profile, or change the members given."""
    index.require()
    await profiles.put_profile(writing, who, sent)
    if sent.show_liked_on_profile is not None:
        await showing.choose(profiles.profile_uri(settings.collections, who.did), sent.show_liked_on_profile)
    return await _own(index, who, showing, settings)


@routes.get("/artists/{artist}", prompt=True)
async def get_artist(
    artist: ArtistName, index: Index, showing: ProfileVisibility, settings: Settings
) -> Answer[Artist]:
    """Get an artist's profile."""
    return await _shown(orjson.loads(artists.find_artist(index, artist).card), showing, settings)


@routes.get("/users/{handle}/likes", prompt=True)
async def liked_tracks(
    handle: ArtistName,
    index: Index,
    supporters: Supporters,
    showing: ProfileVisibility,
    settings: Settings,
    viewer: Viewer | None,
    limit: Limit = 50,
    cursor: Cursor = None,
    adult: Adult = False,
) -> Answer[LikedTrackPage]:
    """List the tracks that an account likes, newest like first. Others see only the public ones.

    If the account has turned off `show_liked_on_profile`, only its owner gets the list.
    """
    user = artists.find_artist(index, handle)
    await profiles.require_likes(showing, settings.collections, user.did, viewer)
    page = index.liked_page(user.did, cursors.read_position(cursor, "liked"), limit, adult=adult)
    viewer = await supporters.among(viewer, page.items)
    return present.make_answer(
        present.render_object(
            user=orjson.dumps(artists.describe_person(user.did, user)),
            tracks=present.render_tracks(page.items, viewer, social.liked_keys(index, page.items, viewer)),
            count=b"%d" % index.liked_count(user.did),
            **present.rest_members(cursors.write_cursor(page.after, "liked")),
        )
    )


async def _own(index: Index, who: SignedIn, showing: ProfileVisibility, settings: Settings) -> Answer[Artist]:
    index.require()
    card = index.artist(who.did)
    if card is not None:
        return await _shown(orjson.loads(card.card), showing, settings)
    nothing: dict[str, Any] = dict.fromkeys(Artist.model_fields)
    named = {"did": who.did, "handle": who.handle}
    return await _shown(nothing | named, showing, settings)


async def _shown(artist: dict[str, Any], showing: ProfileVisibility, settings: Settings) -> Answer[Artist]:
    shown = await profiles.shows_likes(showing, settings.collections, artist["did"])
    return Answer(orjson.dumps({**artist, "show_liked_on_profile": shown}))
