"""The Portal's page of an album: what is told of it, its cover, its template, and its end."""

from readapi.accept import Accept
from readapi.answers import Answer
from readapi.authoring import albums
from readapi.errors import (
    ApiError,
    AudienceUnavailable,
    Conflict,
    NotFound,
    NotOwner,
    PrivateAlbum,
    TooLarge,
)
from readapi.pages import answer, attempt, notes
from readapi.pages.desk import Desk
from readapi.pages.page_routes import PageRoutes
from readapi.pages.portal_forms import AlbumForm, AlbumTemplateForm, CoverForm, MoveForm
from readapi.pds import REFUSALS, Pds
from readapi.publishing.queueing import Queueing
from readapi.queries import lists
from readapi.queries.names import ListName
from readapi.resuming import IdempotencyKey
from readapi.search import Index
from readapi.state.state import State
from readapi.viewer import InSession
from readapi.writing import Writing
from schemas.api.publishing import WantedAlbumSettings
from schemas.ids import list_id

routes = PageRoutes()
NO_KEY = IdempotencyKey()
CHANGES = (NotFound, NotOwner, Conflict, *REFUSALS)


@routes.deed("/portal/albums", requires=("list",), raises=CHANGES)
async def create_album(
    sent: AlbumForm,
    who: InSession,
    accept: Accept,
    index: Index,
    state: State,
    writing: Writing,
    desk: Desk,
) -> Answer[str]:
    """Make an album with nothing on it."""
    try:
        uri, _ = await albums.make(writing, state, index, who, sent.new())
    except ApiError as error:
        tried = attempt.refused("album", sent.values(), error, accept, at="title")
        return await desk.front(who, tried)
    return answer.onward(f"/portal/albums/{list_id(str(uri))}", "album-created")


@routes.page("/portal/albums/{album_id}", raises=(NotFound, NotOwner))
async def album_desk(
    album_id: ListName, who: InSession | None, desk: Desk, note: str | None = None
) -> Answer[str]:
    """Show artists an album of theirs, and let them look after it."""
    if who is None:
        return answer.sign_in("portal")
    return await desk.album(who, album_id, note=notes.note(note))


@routes.deed("/portal/albums/{album_id}", requires=("list",), raises=CHANGES)
async def save_album(
    album_id: ListName,
    sent: AlbumForm,
    who: InSession,
    accept: Accept,
    index: Index,
    state: State,
    writing: Writing,
    desk: Desk,
) -> Answer[str]:
    """Change your album's title and description."""
    album = lists.own(index, "album", album_id, who.did)
    try:
        await albums.change(writing, state, index, who, album, sent.change())
    except ApiError as error:
        tried = attempt.refused("details", sent.values(), error, accept, at="title")
        return await desk.album(who, album_id, tried)
    return answer.onward(f"/portal/albums/{album_id}", "album-saved")


@routes.deed("/portal/albums/{album_id}/cover", requires=("list", "blobs"), raises=(TooLarge, *CHANGES))
async def save_cover(
    album_id: ListName,
    sent: CoverForm,
    who: InSession,
    accept: Accept,
    index: Index,
    pds: Pds,
    writing: Writing,
    desk: Desk,
) -> Answer[str]:
    """Give your album a cover."""
    album = lists.own(index, "album", album_id, who.did)
    try:
        await albums.cover(writing, pds, who, album, sent.wanted().image)
    except ApiError as error:
        tried = attempt.refused("cover", sent.values(), error, accept, at="image")
        return await desk.album(who, album_id, tried)
    return answer.onward(f"/portal/albums/{album_id}", "album-saved")


@routes.deed("/portal/albums/{album_id}/order", requires=("list",), raises=CHANGES)
async def move_track(
    album_id: ListName,
    sent: MoveForm,
    who: InSession,
    accept: Accept,
    index: Index,
    writing: Writing,
    desk: Desk,
) -> Answer[str]:
    """Put a track of your album right before another."""
    album = lists.own(index, "album", album_id, who.did)
    try:
        await albums.move(writing, who, album, sent.track, sent.before)
    except ApiError as error:
        return await desk.album(who, album_id, attempt.refused("order", {}, error, accept))
    return answer.onward(f"/portal/albums/{album_id}#tracks", "order-saved")


@routes.deed(
    "/portal/albums/{album_id}/publishing",
    requires=("track", "blobs"),
    raises=(AudienceUnavailable, PrivateAlbum, *CHANGES),
)
async def save_album_template(
    album_id: ListName,
    sent: AlbumTemplateForm,
    who: InSession,
    accept: Accept,
    index: Index,
    queueing: Queueing,
    desk: Desk,
) -> Answer[str]:
    """Give your album a template, and queue the change of its tracks."""
    album = lists.own(index, "album", album_id, who.did)
    try:
        job = await queueing.album(who, album, sent.wanted(), NO_KEY)
    except ApiError as error:
        tried = attempt.refused("publishing", sent.values(), error, accept)
        return await desk.album(who, album_id, tried)
    return answer.onward(f"/portal/jobs/{job.id}", "change-begun")


@routes.deed(
    "/portal/albums/{album_id}/publishing/reset",
    requires=("track", "blobs"),
    raises=(AudienceUnavailable, *CHANGES),
)
async def drop_album_template(
    album_id: ListName, who: InSession, index: Index, queueing: Queueing
) -> Answer[str]:
    """Take your album's template away, and queue the change of its tracks to the Portal template."""
    album = lists.own(index, "album", album_id, who.did)
    job = await queueing.album(who, album, WantedAlbumSettings(settings=None), NO_KEY)
    return answer.onward(f"/portal/jobs/{job.id}", "change-begun")


@routes.deed("/portal/albums/{album_id}/delete", requires=("list",), raises=CHANGES)
async def drop_album(
    album_id: ListName, who: InSession, index: Index, state: State, writing: Writing
) -> Answer[str]:
    """Delete your album; its tracks stay."""
    await albums.delete(writing, state, who, lists.own(index, "album", album_id, who.did))
    return answer.onward("/portal", "album-deleted")
