"""The forms of a track's page: like, comment, add to a playlist. Each leads back to the page."""

from readapi.answers import Answer
from readapi.errors import Conflict, InvalidRequest, NotFound, NotOwner
from readapi.http.viewer import InSession
from readapi.index.lookups import Index
from readapi.index.queries import lists, social, tracks
from readapi.index.queries.identifiers import TrackName
from readapi.pages import responses
from readapi.pages.page_routes import PageRoutes
from readapi.pages.public.forms import CommentForm, PlaylistChoice
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


@routes.deed("/track/{track_id}/like", requires=("like",), raises=(NotFound, *REFUSALS))
async def like(track_id: TrackName, who: InSession, index: Index, writing: Writing) -> Answer[str]:
    """Like a track."""
    card = tracks.find_track(index, track_id, who.viewer)
    await reactions.like_track(writing, index, who, card)
    return _back(card)


@routes.deed("/track/{track_id}/unlike", requires=("like",), raises=(NotFound, *REFUSALS))
async def unlike(track_id: TrackName, who: InSession, index: Index, writing: Writing) -> Answer[str]:
    """Remove the like of a track."""
    card = tracks.find_track(index, track_id, who.viewer)
    await reactions.unlike_track(writing, index, who, card)
    return _back(card)


@routes.deed(
    "/track/{track_id}/comments",
    requires=("comment",),
    raises=(NotFound, Conflict, InvalidRequest, *REFUSALS),
)
async def comment(
    track_id: TrackName,
    sent: CommentForm,
    who: InSession,
    index: Index,
    state: State,
    settings: Settings,
    writing: Writing,
) -> Answer[str]:
    """Comment at a moment of a track."""
    card = tracks.find_track(index, track_id, who.viewer)
    wanted = sent.wanted()
    said = {"text": wanted.text, "timestampMs": wanted.timestamp_ms}
    most = settings.comments_per_track
    await reactions.write_comment(writing, state.locks, index, who, card, said, most)
    return _back(card, "#comments")


@routes.deed(
    "/track/{track_id}/comments/{comment_id}/delete",
    requires=("comment",),
    raises=(NotFound, NotOwner, *REFUSALS),
)
async def remove_comment(
    track_id: TrackName, comment_id: PublicId, who: InSession, index: Index, writing: Writing
) -> Answer[str]:
    """Delete a comment of one's own."""
    card = tracks.find_track(index, track_id, who.viewer)
    uri = social.comment_uri(social.find_own_comment(index, comment_id, who.viewer))
    await writing.delete(who, uri.collection, uri.rkey)
    return _back(card, "#comments")


@routes.deed(
    "/track/{track_id}/playlists", requires=("list",), raises=(NotFound, NotOwner, Conflict, *REFUSALS)
)
async def add_to_playlist(
    track_id: TrackName, sent: PlaylistChoice, who: InSession, index: Index, writing: Writing
) -> Answer[str]:
    """Append a track to a playlist of one's own, and show the playlist."""
    subject = tracks.strong_ref(tracks.find_track(index, track_id, who.viewer))
    card = lists.find_own_list(index, "playlist", sent.playlist_id, who.did)
    uri = lists.list_uri(card)
    await writing.edit(
        who,
        uri.collection,
        uri.rkey,
        lambda found: authoring.add_track(found, subject["uri"], subject["cid"]),
    )
    return responses.redirect_away(f"/playlist/{sent.playlist_id}")


def _back(track: Card, part: str = "") -> Answer[str]:
    return responses.redirect_away(f"/track/{checked_id(str(tracks.track_uri(track)))}{part}")
