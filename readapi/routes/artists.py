"""Artists, and what they like."""

from typing import Any

import orjson

from readapi import cursors, present
from readapi.answers import Answer
from readapi.authoring import profiles
from readapi.cursors import Cursor, Limit
from readapi.endpoint import Routes
from readapi.errors import Conflict, NotFound
from readapi.pds import REFUSALS
from readapi.publishing.supporters import Supporters
from readapi.queries import artists, people, social
from readapi.queries.names import ArtistName
from readapi.search import Index
from readapi.state.showing import Showing
from readapi.viewer import SignedIn
from readapi.writing import Writing
from schemas.access import Viewer
from schemas.api.artists import Artist, ProfileChange
from schemas.api.tracks import LikedTrackPage
from schemas.ids import AtUri, Did
from schemas.settings import Settings

routes = Routes("artists")


@routes.get("/artists/me")
async def own_profile(index: Index, who: SignedIn, showing: Showing, settings: Settings) -> Answer[Artist]:
    """Return your own profile, or what is known of you without one."""
    return await _own(index, who, showing, settings)


@routes.put("/artists/me", requires=("profile",), raises=(Conflict, *REFUSALS))
async def put_profile(
    sent: ProfileChange, index: Index, who: SignedIn, showing: Showing, settings: Settings, writing: Writing
) -> Answer[Artist]:
    """Make your artist profile, or change what is given of it."""
    index.require()
    await profiles.put(writing, who, sent)
    if sent.show_liked_on_profile is not None:
        await showing.choose(_profile(settings, who.did), sent.show_liked_on_profile)
    return await _own(index, who, showing, settings)


@routes.get("/artists/{artist}")
async def get_artist(
    artist: ArtistName, index: Index, showing: Showing, settings: Settings
) -> Answer[Artist]:
    """Return somebody's profile."""
    return await _shown(orjson.loads(artists.find(index, artist).card), showing, settings)


@routes.get("/users/{handle}/likes")
async def liked_tracks(
    handle: ArtistName,
    index: Index,
    supporters: Supporters,
    showing: Showing,
    settings: Settings,
    viewer: Viewer | None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Answer[LikedTrackPage]:
    """List the tracks that somebody likes, newest like first; of others' only the public ones.

    Who chose not to show what they like (`show_liked_on_profile`) is the only one to see it here.
    """
    user = artists.find(index, handle)
    is_own = viewer is not None and viewer.did == user.did
    if not is_own and not await _shows_likes(user.did, showing, settings):
        raise NotFound("They do not show what they like.")
    page = index.liked_page(user.did, cursors.read(cursor, "liked"), limit)
    viewer = await supporters.among(viewer, page.items)
    return present.answer(
        present.record(
            user=orjson.dumps(people.person(user.did, user)),
            tracks=present.tracks(page.items, viewer, social.liked(index, page.items, viewer)),
            count=b"%d" % index.liked_count(user.did),
            **present.rest(cursors.write(page.after, "liked")),
        )
    )


async def _own(index: Index, who: SignedIn, showing: Showing, settings: Settings) -> Answer[Artist]:
    index.require()
    card = index.artist(who.did)
    if card is not None:
        return await _shown(orjson.loads(card.card), showing, settings)
    nothing: dict[str, Any] = dict.fromkeys(Artist.model_fields)
    named = {"did": who.did, "handle": who.handle}
    return await _shown(nothing | named, showing, settings)


async def _shown(artist: dict[str, Any], showing: Showing, settings: Settings) -> Answer[Artist]:
    shown = await _shows_likes(artist["did"], showing, settings)
    return Answer(orjson.dumps({**artist, "show_liked_on_profile": shown}))


async def _shows_likes(did: Did, showing: Showing, settings: Settings) -> bool:
    """Likes are public records, so they are shown until somebody chooses otherwise."""
    chosen = await showing.of(_profile(settings, did))
    return True if chosen is None else chosen


def _profile(settings: Settings, did: Did) -> str:
    """The record that stands for what somebody chose about their profile."""
    return str(AtUri(did, settings.collections.profile, profiles.RKEY))
