"""The forms of a track's page: like, comment, add to a playlist. Each leads back to the page."""

from readapi.answers import Answer
from readapi.errors import ApiError, Conflict, InvalidRequest, NotFound, NotOwner
from readapi.http.limits.clients import Client, wider_network
from readapi.http.request.headers import Accept
from readapi.http.request.page_forms import PageForm
from readapi.http.viewer import InSession
from readapi.index.lookups import Index
from readapi.index.queries import lists, social, tracks
from readapi.index.queries.identifiers import TrackName
from readapi.pages import responses
from readapi.pages.form_errors import form_errors
from readapi.pages.page_routes import PageRoutes
from readapi.pages.public.forms import CommentForm, PlaylistChoice
from readapi.pages.public.track_pages import TrackPages
from readapi.pds.records import lists as authoring
from readapi.pds.records import reactions
from readapi.pds.repo import REFUSALS
from readapi.pds.writing import Writing
from readapi.state.state import State
from schemas.api.shape import PublicId
from schemas.ids import checked_id
from schemas.settings import Settings
from schemas.stored import Card

routes = PageRoutes()

_TRACK = "/track/{track_id}"  # the page of all these forms


@routes.deed(_TRACK + "/like", requires=("like",), raises=(NotFound, *REFUSALS), form_on=_TRACK)
async def like(
    track_id: TrackName,
    who: InSession,
    client: Client,
    accept: Accept,
    index: Index,
    state: State,
    writing: Writing,
    pages: TrackPages,
) -> Answer[str]:
    """Like a track."""
    state.activity.note("like", who.did, wider_network(client))
    card = tracks.find_track(index, track_id, who.viewer)
    try:
        await reactions.like_track(writing, index, who, card)
    except ApiError as error:
        return await pages.show(who, track_id, attempt=form_errors("like", PageForm(), error, accept))
    return _back(card)


@routes.deed(_TRACK + "/unlike", requires=("like",), raises=(NotFound, *REFUSALS), form_on=_TRACK)
async def unlike(
    track_id: TrackName, who: InSession, accept: Accept, index: Index, writing: Writing, pages: TrackPages
) -> Answer[str]:
    """Remove the like of a track."""
    card = tracks.find_track(index, track_id, who.viewer)
    try:
        await reactions.unlike_track(writing, index, who, card)
    except ApiError as error:
        return await pages.show(who, track_id, attempt=form_errors("like", PageForm(), error, accept))
    return _back(card)


@routes.deed(
    _TRACK + "/comments",
    requires=("comment",),
    raises=(NotFound, Conflict, InvalidRequest, *REFUSALS),
    form_on=_TRACK,
)
async def comment(
    track_id: TrackName,
    sent: CommentForm,
    who: InSession,
    client: Client,
    accept: Accept,
    index: Index,
    state: State,
    settings: Settings,
    writing: Writing,
    pages: TrackPages,
) -> Answer[str]:
    """Comment at a moment of a track."""
    state.activity.note("comment", who.did, wider_network(client))
    card = tracks.find_track(index, track_id, who.viewer)
    most = settings.comments_per_track
    try:
        await reactions.write_comment(writing, state.locks, index, who, card, sent.said(), most)
    except ApiError as error:
        return await pages.show(who, track_id, attempt=form_errors("comment", sent, error, accept))
    return _back(card, "#comments")


@routes.deed(
    _TRACK + "/comments/{comment_id}",
    requires=("comment",),
    raises=(NotFound, NotOwner, Conflict, InvalidRequest, *REFUSALS),
    form_on=_TRACK,
)
async def change_comment(
    track_id: TrackName,
    comment_id: PublicId,
    sent: CommentForm,
    who: InSession,
    accept: Accept,
    index: Index,
    writing: Writing,
    pages: TrackPages,
) -> Answer[str]:
    """Change the text and the moment of a comment of one's own."""
    card = tracks.find_track(index, track_id, who.viewer)
    known = social.find_own_comment(index, comment_id, who.viewer)
    try:
        await reactions.change_comment(writing, index, who, known, sent.said())
    except ApiError as error:
        tried = form_errors(f"comment-{comment_id}", sent, error, accept)
        return await pages.show(who, track_id, attempt=tried)
    return _back(card, "#comments")


@routes.deed(
    _TRACK + "/comments/{comment_id}/delete",
    requires=("comment",),
    raises=(NotFound, NotOwner, *REFUSALS),
    form_on=_TRACK,
)
async def remove_comment(
    track_id: TrackName,
    comment_id: PublicId,
    who: InSession,
    accept: Accept,
    index: Index,
    writing: Writing,
    pages: TrackPages,
) -> Answer[str]:
    """Delete a comment of one's own."""
    card = tracks.find_track(index, track_id, who.viewer)
    uri = social.comment_uri(social.find_own_comment(index, comment_id, who.viewer))
    try:
        await writing.delete(who, uri.collection, uri.rkey)
    except ApiError as error:
        return await pages.show(who, track_id, attempt=form_errors("deletion", PageForm(), error, accept))
    return _back(card, "#comments")


@routes.deed(
    _TRACK + "/playlists",
    requires=("list",),
    raises=(NotFound, NotOwner, Conflict, *REFUSALS),
    form_on=_TRACK,
)
async def add_to_playlist(
    track_id: TrackName,
    sent: PlaylistChoice,
    who: InSession,
    accept: Accept,
    index: Index,
    writing: Writing,
    pages: TrackPages,
) -> Answer[str]:
    """Append a track to a playlist of one's own, and show the playlist."""
    subject = tracks.strong_ref(tracks.find_track(index, track_id, who.viewer))
    try:
        uri = lists.list_uri(lists.find_own_list(index, "playlist", sent.playlist_id, who.did))
        await writing.edit(
            who,
            uri.collection,
            uri.rkey,
            lambda found: authoring.add_track(found, subject["uri"], subject["cid"]),
        )
    except ApiError as error:
        return await pages.show(who, track_id, attempt=form_errors("playlist", sent, error, accept))
    return responses.redirect_away(f"/playlist/{sent.playlist_id}")


def _back(track: Card, part: str = "") -> Answer[str]:
    return responses.redirect_away(f"/track/{checked_id(str(tracks.track_uri(track)))}{part}")
