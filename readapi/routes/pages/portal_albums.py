"""The Portal's pages of albums: metadata, cover, order, publishing template and deletion."""

from readapi.answers import Answer
from readapi.errors import (
    ApiError,
    AudienceUnavailable,
    Conflict,
    NotFound,
    NotOwner,
    PrivateAlbum,
    TooLarge,
)
from readapi.http.request.headers import Accept, IdempotencyKey
from readapi.http.viewer import InSession
from readapi.index.lookups import Index
from readapi.index.queries import lists
from readapi.index.queries.identifiers import ListName
from readapi.pages import form_errors, notices, responses
from readapi.pages.page_routes import PageRoutes
from readapi.pages.portal.forms import AlbumForm, AlbumTemplateForm, CoverForm, MoveForm
from readapi.pages.portal.pages import PortalPages
from readapi.pds.records import albums
from readapi.pds.repo import REFUSALS, Pds
from readapi.pds.writing import Writing
from readapi.publishing.access.enqueue import JobQueue
from readapi.state.state import State
from schemas.api.publishing import WantedAlbumSettings
from schemas.ids import list_id

routes = PageRoutes()
NO_KEY = IdempotencyKey()
CHANGES = (NotFound, NotOwner, Conflict, *REFUSALS)


@routes.page("/portal/albums")
async def albums_page(who: InSession | None, desk: PortalPages, note: str | None = None) -> Answer[str]:
    """Show the artist's albums, and the form for another."""
    if who is None:
        return responses.sign_in("portal")
    return await desk.albums(who, note=notices.find_notice(note))


@routes.deed("/portal/albums", requires=("list",), raises=CHANGES)
async def create_album(
    sent: AlbumForm,
    who: InSession,
    accept: Accept,
    index: Index,
    state: State,
    writing: Writing,
    desk: PortalPages,
) -> Answer[str]:
    """Create an empty album."""
    try:
        uri, _ = await albums.make_album(writing, state, index, who, sent.new())
    except ApiError as error:
        tried = form_errors.form_errors("album", sent, error, accept, at="title")
        return await desk.albums(who, tried)
    return responses.redirect_with_notice(f"/portal/albums/{list_id(str(uri))}", "album-created")


@routes.page("/portal/albums/{album_id}", raises=(NotFound, NotOwner))
async def album_desk(
    album_id: ListName, who: InSession | None, desk: PortalPages, note: str | None = None
) -> Answer[str]:
    """Show an album to its artist, with forms to change it."""
    if who is None:
        return responses.sign_in("portal")
    return await desk.album(who, album_id, note=notices.find_notice(note))


@routes.deed("/portal/albums/{album_id}", requires=("list",), raises=CHANGES)
async def save_album(
    album_id: ListName,
    sent: AlbumForm,
    who: InSession,
    accept: Accept,
    index: Index,
    state: State,
    writing: Writing,
    desk: PortalPages,
) -> Answer[str]:
    """Change an album's title and description."""
    album = lists.find_own_list(index, "album", album_id, who.did)
    try:
        await albums.change_album(writing, state, index, who, album, sent.change())
    except ApiError as error:
        tried = form_errors.form_errors("details", sent, error, accept, at="title")
        return await desk.album(who, album_id, tried)
    return responses.redirect_with_notice(f"/portal/albums/{album_id}", "album-saved")


@routes.deed("/portal/albums/{album_id}/cover", requires=("list", "blobs"), raises=(TooLarge, *CHANGES))
async def save_cover(
    album_id: ListName,
    sent: CoverForm,
    who: InSession,
    accept: Accept,
    index: Index,
    pds: Pds,
    writing: Writing,
    desk: PortalPages,
) -> Answer[str]:
    """Set an album's cover."""
    album = lists.find_own_list(index, "album", album_id, who.did)
    try:
        await albums.set_cover(writing, pds, who, album, sent.wanted().image)
    except ApiError as error:
        tried = form_errors.form_errors("cover", sent, error, accept, at="image")
        return await desk.album(who, album_id, tried)
    return responses.redirect_with_notice(f"/portal/albums/{album_id}", "album-saved")


@routes.deed("/portal/albums/{album_id}/order", requires=("list",), raises=CHANGES)
async def move_track(
    album_id: ListName,
    sent: MoveForm,
    who: InSession,
    accept: Accept,
    index: Index,
    writing: Writing,
    desk: PortalPages,
) -> Answer[str]:
    """Move a track of an album to right before another."""
    album = lists.find_own_list(index, "album", album_id, who.did)
    try:
        await albums.move_track(writing, who, album, sent.track, sent.before)
    except ApiError as error:
        return await desk.album(who, album_id, form_errors.form_errors("order", sent, error, accept))
    return responses.redirect_with_notice(f"/portal/albums/{album_id}#tracks", "order-saved")


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
    queueing: JobQueue,
    desk: PortalPages,
) -> Answer[str]:
    """Set an album's template, and queue the change of its tracks."""
    album = lists.find_own_list(index, "album", album_id, who.did)
    try:
        job = await queueing.album(who, album, sent.wanted(), NO_KEY)
    except ApiError as error:
        tried = form_errors.form_errors("publishing", sent, error, accept)
        return await desk.album(who, album_id, tried)
    return responses.redirect_with_notice(f"/portal/jobs/{job.id}", "change-begun")


@routes.deed(
    "/portal/albums/{album_id}/publishing/reset",
    requires=("track", "blobs"),
    raises=(AudienceUnavailable, *CHANGES),
)
async def drop_album_template(
    album_id: ListName, who: InSession, index: Index, queueing: JobQueue
) -> Answer[str]:
    """Remove an album's template, and queue the change of its tracks to the Portal template."""
    album = lists.find_own_list(index, "album", album_id, who.did)
    job = await queueing.album(who, album, WantedAlbumSettings(settings=None), NO_KEY)
    return responses.redirect_with_notice(f"/portal/jobs/{job.id}", "change-begun")


@routes.deed("/portal/albums/{album_id}/delete", requires=("list",), raises=CHANGES)
async def drop_album(
    album_id: ListName, who: InSession, index: Index, state: State, writing: Writing
) -> Answer[str]:
    """Delete an album. Its tracks stay."""
    await albums.delete_album(writing, state, who, lists.find_own_list(index, "album", album_id, who.did))
    return responses.redirect_with_notice("/portal/albums", "album-deleted")
