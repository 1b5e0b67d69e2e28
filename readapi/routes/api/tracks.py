"""Tracks, with their likes, comments and proofs."""

from typing import Annotated

import orjson
from pydantic import Field

from readapi.answers import CAR, JSON, Answer, render_json
from readapi.errors import (
    Conflict,
    NotFound,
    NotOwner,
    PdsDown,
    PdsUnavailable,
    ScopeUpgradeRequired,
    SessionExpired,
)
from readapi.http.endpoint import Routes
from readapi.http.request.headers import BY_ACCEPT, Accept
from readapi.http.supporters import Supporters
from readapi.http.viewer import SignedIn
from readapi.index import cursors, present
from readapi.index.cursors import Cursor, Limit
from readapi.index.indexer_client import Proofs
from readapi.index.lookups import Index, Sort
from readapi.index.queries import social, tracks
from readapi.index.queries import tags as tag_queries
from readapi.index.queries import top as top_queries
from readapi.index.queries.identifiers import AtUriName, DidName, TrackName
from readapi.index.queries.top import Period
from readapi.index.queries.tracks import Adult
from readapi.index.snapshots.interface import Snapshots
from readapi.pds.repo import REFUSALS
from readapi.publishing.edit_track import TrackEdit
from readapi.publishing.originals.delete import TrackDeletion
from readapi.spaces.find_track import SpaceTrackFinder
from schemas import datetimes
from schemas.access import Viewer
from schemas.api.comments import CommentPage
from schemas.api.shape import Message
from schemas.api.tags import Tag, TaggedTrackPage
from schemas.api.tracks import LikerPage, Track, TrackChange, TrackPage, TrackProof
from schemas.stored import Card

routes = Routes("tracks")

OF_SPACES = (NotFound, PdsUnavailable, ScopeUpgradeRequired, SessionExpired)

TopLimit = Annotated[int, Field(ge=1, le=top_queries.MOST)]
TagNames = Annotated[tuple[str, ...], Field(max_length=20, description="Tracks with any of these tags.")]


@routes.get("/tracks/", prompt=True)
async def list_tracks(
    index: Index,
    supporters: Supporters,
    viewer: Viewer | None,
    artist_did: DidName | None = None,
    tags: TagNames = (),
    sort: Sort = "recent",
    limit: Limit = 50,
    cursor: Cursor = None,
    adult: Adult = False,
) -> Answer[TrackPage]:
    """List public tracks; for one artist, also the unlisted ones."""
    order = f"tracks.{sort}"
    page = tracks.find_track_page(
        index,
        sort,
        cursors.read_position(cursor, order),
        limit,
        artist_did,
        tags,
        viewer,
        adult=adult,
    )
    following = present.rest_members(cursors.write_cursor(page.after, order))
    viewer = await supporters.among(viewer, page.items)
    page_of_tracks = present.render_tracks(page.items, viewer, social.liked_keys(index, page.items, viewer))
    return present.make_answer(present.render_object(tracks=page_of_tracks, **following))


@routes.get("/tracks/top", prompt=True)
async def top_tracks(
    index: Index,
    catalog: Snapshots,
    supporters: Supporters,
    viewer: Viewer | None,
    period: Period = "all_time",
    limit: TopLimit = 10,
    adult: Adult = False,
) -> Answer[list[Track]]:
    """List the tracks with the most likes within a period.

    A like counts from its creation or from when it was first seen, whichever is earlier. Periods end now, to
    the minute; the header `X-As-Of` says when the likes were counted.
    """
    ids, as_of = await top_queries.find_top_tracks(catalog, period, datetimes.this_minute(), adult=adult)
    cards = top_queries.first_visible(index, ids, viewer, limit, adult=adult)
    viewer = await supporters.among(viewer, cards)
    listed = present.render_tracks(cards, viewer, social.liked_keys(index, cards, viewer))
    return present.make_answer(listed, headers={"X-As-Of": datetimes.render(as_of)})


@routes.get("/tracks/tags", prompt=True)
async def list_tags(
    catalog: Snapshots,
    q: Annotated[str, Field(max_length=100, description="How the tag begins.")] = "",
    limit: Limit = 20,
) -> Answer[list[Tag]]:
    """List the tags with the most public tracks. The header `X-As-Of` says when they were counted."""
    counted, as_of = await tag_queries.count_tags(catalog, q, limit)
    return Answer(render_json(counted), headers={"X-As-Of": datetimes.render(as_of)})


@routes.get("/tracks/tags/{name:.+}", prompt=True)
async def tracks_by_tag(
    name: str,
    index: Index,
    supporters: Supporters,
    viewer: Viewer | None,
    limit: Limit = 100,
    cursor: Cursor = None,
    adult: Adult = False,
) -> Answer[TaggedTrackPage]:
    """List the public tracks with a tag, newest first."""
    head = tag_queries.find_tag(index, name)
    page = tracks.find_track_page(
        index, "recent", cursors.read_position(cursor, "tag"), limit, None, [name], viewer, adult=adult
    )
    following = present.rest_members(cursors.write_cursor(page.after, "tag"))
    viewer = await supporters.among(viewer, page.items)
    page_of_tracks = present.render_tracks(page.items, viewer, social.liked_keys(index, page.items, viewer))
    return present.make_answer(
        present.render_object(tag=render_json(head), tracks=page_of_tracks, **following)
    )


@routes.get("/tracks/by-uri", raises=OF_SPACES, prompt=True)
async def track_by_uri(
    uri: AtUriName, index: Index, supporters: Supporters, finder: SpaceTrackFinder, who: SignedIn | None
) -> Answer[Track]:
    """Get the track with an at-uri."""
    card, viewer = await finder.show(uri, who)
    return _one(index, card, await supporters.among(viewer, [card]))


@routes.get("/tracks/{track_id}", raises=OF_SPACES, prompt=True)
async def get_track(
    track_id: TrackName, index: Index, supporters: Supporters, finder: SpaceTrackFinder, who: SignedIn | None
) -> Answer[Track]:
    """Get a track, with the viewer's permissions.

    A track in a private Space is fetched from there, and returned to viewers that the Space admits.
    """
    if who is None:  # no Space admits a request without an account
        return present.make_answer(present.render_track(tracks.find_track(index, track_id, None), None, ()))
    card, viewer = await finder.show(track_id, who)
    return _one(index, card, await supporters.among(viewer, [card]))


@routes.get("/tracks/{track_id}/proof", raises=(NotFound, PdsDown), media_types=(JSON, CAR))
async def track_proof(
    track_id: TrackName, index: Index, proofs: Proofs, viewer: Viewer | None, accept: Accept
) -> Answer[TrackProof]:
    """Get how a track's record was verified, or its proof.

    With `Accept: application/vnd.ipld.car` the proof is fetched from the artist's server: a CAR of the signed
    commit, the path through the repo's tree, and the record. It is verified before it is returned.
    """
    told = tracks.find_track(index, track_id, viewer).proof
    if accept.prefers(CAR, JSON):
        return Answer(await proofs.fetch(orjson.loads(told)["uri"]), CAR, headers=BY_ACCEPT)
    return Answer(told, headers=BY_ACCEPT)


@routes.get("/tracks/{track_id}/likes")
def track_likes(
    track_id: TrackName, index: Index, viewer: Viewer | None, limit: Limit = 50, cursor: Cursor = None
) -> Answer[LikerPage]:
    """List the accounts that like a track, newest like first."""
    track = tracks.find_track(index, track_id, viewer)
    page = social.list_likers(index, track.key, cursors.read_position(cursor, "likers"), limit)
    count = b"%d" % index.like_count(track.key)
    following = present.rest_members(cursors.write_cursor(page.after, "likers"))
    return present.make_answer(
        present.render_object(users=present.render_array(page.items), count=count, **following)
    )


@routes.get("/tracks/{track_id}/comments")
def track_comments(
    track_id: TrackName, index: Index, viewer: Viewer | None, limit: Limit = 50, cursor: Cursor = None
) -> Answer[CommentPage]:
    """List the comments on a track, in order of their positions."""
    track = tracks.find_track(index, track_id, viewer)
    page = social.list_comments(index, track.key, cursors.read_position(cursor, "comments"), limit)
    count = b"%d" % index.comment_count(track.key)
    following = present.rest_members(cursors.write_cursor(page.after, "comments"))
    return present.make_answer(
        present.render_object(comments=present.render_array(page.items), count=count, **following)
    )


@routes.patch(
    "/tracks/{track_id}",
    requires=("track", "blobs"),
    raises=(NotOwner, Conflict, *REFUSALS),
)
async def change_track(
    track_id: TrackName,
    sent: TrackChange,
    who: SignedIn,
    index: Index,
    describing: TrackEdit,
) -> Answer[Track]:
    """Change your track's metadata; absent members stay. Send a picture as multipart/form-data.

    `album` is the name of the one album of yours that the track will be on. It is created if you have none of
    that name; an empty name takes the track off its album. `isrc` and `iswc` are stored in the track's
    `rights`, whose other members stay. To change who may hear, download or find the track, use
    /tracks/{track_id}/publishing.
    """
    card = tracks.find_own_track(index, track_id, who.viewer)
    uri = tracks.track_uri(card)
    await describing.change(who, uri, sent)
    return _one(index, index.track_at(str(uri)) or card, who.viewer)


@routes.delete("/tracks/{track_id}", requires=("track",), raises=(NotOwner, Conflict, *REFUSALS))
async def delete_track(
    track_id: TrackName, who: SignedIn, index: Index, deleting: TrackDeletion, finder: SpaceTrackFinder
) -> Message:
    """Delete your track: its record at your server, and its audio on this service."""
    if not await finder.delete(track_id, who):
        await deleting.delete(who, tracks.find_own_track(index, track_id, who.viewer))
    return Message(message="The track is deleted.")


def _one(index: Index, card: Card, viewer: Viewer | None) -> Answer[Track]:
    return present.make_answer(present.render_track(card, viewer, social.liked_keys(index, [card], viewer)))
