"""Loads what surrounds a track on its page: comments, likers, more by its artist, the viewer's playlists."""

from dataclasses import dataclass

import orjson
from pydantic import TypeAdapter

from readapi.http.supporters import Supporters
from readapi.index.lookups import Index
from readapi.index.queries import artists, lists, social, tracks
from readapi.pages.public import content
from readapi.pages.public.player import PlayerTrack, make_player_track
from readapi.pages.urls import Addresses
from readapi.state.publishing.profile_visibility import ProfileVisibility
from schemas.access import Viewer
from schemas.api.comments import Comment
from schemas.api.playlists import Playlist
from schemas.api.tracks import Liker
from schemas.spaces import is_in_space
from schemas.stored import Card

MOST_COMMENTS = 50
_MOST_LIKERS = 20
_MOST_MORE = 5
_MOST_PLAYLISTS = 100

_COMMENTS = TypeAdapter(list[Comment])
_LIKERS = TypeAdapter(list[Liker])


@dataclass(frozen=True, slots=True)
class Reactions:
    """What surrounds a track. `playlists`: the viewer's own, to add the track to.

    `support`: where its artist can be supported. `is_open`: viewers may like it and comment on it; not so for
    tracks in a private Space.
    """

    comments: list[Comment]
    likers: list[Liker]
    more: list[PlayerTrack]
    playlists: list[Playlist]
    support: str | None
    is_liked: bool
    is_open: bool


async def load_reactions(
    index: Index,
    supporters: Supporters,
    showing: ProfileVisibility,
    card: Card,
    viewer: Viewer | None,
    addresses: Addresses,
    *,
    adult: bool,
) -> Reactions:
    """What surrounds a track that this viewer may see. `adult`: whether that has what is for adults."""
    support = artists.support_url(index, card.did)
    if is_in_space(tracks.parse_card(card)["uri"]):
        return Reactions([], [], [], [], support, is_liked=False, is_open=False)
    comments = social.list_comments(index, card.key, None, MOST_COMMENTS).items
    likers = social.list_likers(index, card.key, None, _MOST_LIKERS).items
    others = tracks.find_track_page(
        index, "recent", None, _MOST_MORE + 1, card.did, (), viewer, adult=adult
    ).items
    others = [other for other in others if other.key != card.key][:_MOST_MORE]
    more = await content.load_tracks(supporters, others, viewer)
    playlists = []
    if viewer is not None:
        playlists = (
            await lists.playlists_of(index, showing, viewer.did, viewer, None, _MOST_PLAYLISTS)
        ).items
    return Reactions(
        _COMMENTS.validate_python([orjson.loads(comment) for comment in comments]),
        _LIKERS.validate_python([orjson.loads(liker) for liker in likers]),
        [make_player_track(track, addresses) for track in more],
        [Playlist.model_validate(playlist) for playlist in playlists],
        support,
        is_liked=bool(social.liked_keys(index, [card], viewer)),
        is_open=True,
    )
