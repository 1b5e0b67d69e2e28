"""Reactions to tracks: likes, comments and plays."""

from typing import Any

import orjson
import structlog

from readapi.answers import Answer
from readapi.audio.select import check_listening
from readapi.errors import (
    Conflict,
    InvalidRequest,
    NotAuthenticated,
    NotOwner,
    SpaceRefused,
    SupportRequired,
)
from readapi.http.endpoint import Routes
from readapi.http.limits.clients import Client, wider_network
from readapi.http.supporters import Supporters
from readapi.http.viewer import SignedIn
from readapi.index.lookups import Index
from readapi.index.queries import artists, social, tracks
from readapi.index.queries.identifiers import TrackName
from readapi.pds.records import reactions
from readapi.pds.repo import REFUSALS, Record
from readapi.pds.writing import Writing
from readapi.state.state import State
from schemas.access import Viewer
from schemas.api.comments import Comment, CommentChange, NewComment
from schemas.api.shape import Deleted, PublicId
from schemas.api.tracks import LikeState, PlayCount
from schemas.datetimes import parse_datetime
from schemas.ids import record_id
from schemas.settings import Settings

log = structlog.get_logger()

routes = Routes("reactions")


@routes.post("/tracks/{track_id}/like", requires=("like",), raises=REFUSALS)
async def like_track(
    track_id: TrackName, who: SignedIn, client: Client, index: Index, state: State, writing: Writing
) -> LikeState:
    """Like a track. Liking it again changes nothing."""
    state.activity.note("like", who.did, wider_network(client))
    await reactions.like_track(writing, index, who, tracks.find_track(index, track_id, who.viewer))
    return LikeState(liked=True)


@routes.delete("/tracks/{track_id}/like", requires=("like",), raises=REFUSALS)
async def unlike_track(track_id: TrackName, who: SignedIn, index: Index, writing: Writing) -> LikeState:
    """Remove a like. Without one, nothing changes."""
    await reactions.unlike_track(writing, index, who, tracks.find_track(index, track_id, who.viewer))
    return LikeState(liked=False)


@routes.post("/tracks/{track_id}/comments", requires=("comment",), raises=(Conflict, *REFUSALS))
async def comment_on_track(
    track_id: TrackName,
    sent: NewComment,
    who: SignedIn,
    client: Client,
    index: Index,
    state: State,
    settings: Settings,
    writing: Writing,
) -> Answer[Comment]:
    """Comment at a position in a track."""
    state.activity.note("comment", who.did, wider_network(client))
    track = tracks.find_track(index, track_id, who.viewer)
    said = {"text": sent.text, "timestampMs": sent.timestamp_ms}
    most = settings.comments_per_track
    return _comment_answer(
        index, await reactions.write_comment(writing, state.locks, index, who, track, said, most)
    )


@routes.patch("/tracks/comments/{comment_id}", requires=("comment",), raises=(NotOwner, Conflict, *REFUSALS))
async def change_comment(
    comment_id: PublicId, sent: CommentChange, who: SignedIn, index: Index, writing: Writing
) -> Answer[Comment]:
    """Change the text or the position of your comment."""
    known = social.find_own_comment(index, comment_id, who.viewer)
    said = {"text": sent.text, "timestampMs": sent.timestamp_ms}
    given = {name: value for name, value in said.items() if value is not None}
    if not given:
        raise InvalidRequest("The request changes nothing.")
    return _comment_answer(index, await reactions.change_comment(writing, index, who, known, given), known)


@routes.delete("/tracks/comments/{comment_id}", requires=("comment",), raises=(NotOwner, *REFUSALS))
async def delete_comment(comment_id: PublicId, who: SignedIn, index: Index, writing: Writing) -> Deleted:
    """Delete your comment."""
    uri = social.comment_uri(social.find_own_comment(index, comment_id, who.viewer))
    await writing.delete(who, uri.collection, uri.rkey)
    return Deleted(deleted=True)


@routes.post(
    "/tracks/{track_id}/play",
    from_any_page=True,
    raises=(NotAuthenticated, SupportRequired, SpaceRefused),
)
async def play_track(
    track_id: TrackName,
    who: SignedIn | None,
    client: Client,
    index: Index,
    state: State,
    supporters: Supporters,
    writing: Writing,
) -> PlayCount:
    """Count a play: one per listener within the track's length (at least 30 seconds, at most an hour).

    Players embedded in other sites may report plays too. Viewers who may not listen are refused, as for the
    stream. The play is scrobbled if the account has turned scrobbling on and granted the scope; if its server
    is unavailable, the play is counted but not scrobbled.
    """
    viewer: Viewer | None = None if who is None else who.viewer
    track = tracks.find_track(index, track_id, viewer)
    check_listening(track.access, await supporters.among(viewer, [track]))
    play = await reactions.count_play(writing, state, who, client, track)
    return PlayCount(play_count=play.count)


def _comment_answer(index: Index, written: Record, known: dict[str, Any] | None = None) -> Answer[Comment]:
    """A comment as written, with the id that the index shows, or will show unless it collides.

    `known`: its card before the change. Labels of one version do not apply to the next.
    """
    value, did, uri = written.value, written.uri.did, str(written.uri)
    comment_id = index.comment_id(uri) if known is None else known["id"]
    updated_at = value.get("updatedAt")
    comment: dict[str, Any] = {
        "id": record_id(uri) if comment_id is None else comment_id,
        "uri": uri,
        "user_did": did,
        "text": value["text"],
        "timestamp_ms": value["timestampMs"],
        "created_at": parse_datetime(value["createdAt"]),
        "updated_at": None if updated_at is None else parse_datetime(updated_at),
        "label_details": [label for label in (known or {}).get("label_details", ()) if label["cid"] is None],
    }
    signed = social.add_author(comment, artists.load_people(index, [did])[did])
    return Answer(orjson.dumps(signed, option=orjson.OPT_UTC_Z))
