"""The Portal's page of a track: metadata, access, recordings and deletion."""

from readapi.answers import Answer
from readapi.errors import (
    ApiError,
    AudienceUnavailable,
    Conflict,
    NotFound,
    NotOwner,
    TooLarge,
    UnsupportedMediaType,
)
from readapi.http.request.headers import Accept, IdempotencyKey
from readapi.http.viewer import InSession
from readapi.index.lookups import Index
from readapi.index.queries import tracks
from readapi.index.queries.identifiers import TrackName
from readapi.pages import form_errors, notices, responses
from readapi.pages.page_routes import PageRoutes
from readapi.pages.portal.forms import AudioForm, TemplateForm, TrackForm
from readapi.pages.portal.pages import PortalPages
from readapi.pds.repo import REFUSALS
from readapi.publishing.access.enqueue import JobQueue
from readapi.publishing.edit_track import TrackEdit
from readapi.publishing.originals.delete import TrackDeletion
from readapi.publishing.uploads.receive import UploadIntake
from readapi.state.state import State
from schemas.api.publishing import WantedSettings

routes = PageRoutes()
NO_KEY = IdempotencyKey()
OWN = (NotFound, NotOwner, Conflict)


@routes.page("/portal/tracks/{track_id}", raises=OWN)
async def track_desk(
    track_id: TrackName, who: InSession | None, desk: PortalPages, note: str | None = None
) -> Answer[str]:
    """Show a track to its artist, with forms to change it."""
    if who is None:
        return responses.sign_in("portal")
    return await desk.track(who, track_id, note=notices.find_notice(note))


@routes.deed("/portal/tracks/{track_id}", requires=("track", "blobs"), raises=(TooLarge, *OWN, *REFUSALS))
async def save_track(
    track_id: TrackName,
    sent: TrackForm,
    who: InSession,
    accept: Accept,
    index: Index,
    describing: TrackEdit,
    desk: PortalPages,
) -> Answer[str]:
    """Change a track's metadata."""
    uri = tracks.track_uri(tracks.find_own_track(index, track_id, who.viewer))
    try:
        await describing.change(who, uri, sent.wanted())
    except ApiError as error:
        tried = form_errors.form_errors("details", sent, error, accept)
        return await desk.track(who, track_id, tried)
    return responses.redirect_with_notice(f"/portal/tracks/{track_id}", "track-saved")


@routes.deed(
    "/portal/tracks/{track_id}/publishing",
    requires=("track", "blobs"),
    raises=(AudienceUnavailable, *OWN, *REFUSALS),
)
async def change_who_may_listen(
    track_id: TrackName,
    sent: TemplateForm,
    who: InSession,
    accept: Accept,
    index: Index,
    queueing: JobQueue,
    desk: PortalPages,
) -> Answer[str]:
    """Queue a change of who may hear, download and find a track."""
    track = tracks.find_own_track(index, track_id, who.viewer)
    try:
        job = await queueing.track(who, track, WantedSettings(settings=sent.template()), NO_KEY)
    except ApiError as error:
        tried = form_errors.form_errors("publishing", sent, error, accept)
        return await desk.track(who, track_id, tried)
    return responses.redirect_with_notice(f"/portal/jobs/{job.id}", "change-begun")


@routes.deed(
    "/portal/tracks/{track_id}/publishing/reset",
    requires=("track", "blobs"),
    raises=(AudienceUnavailable, *OWN, *REFUSALS),
)
async def follow_template(
    track_id: TrackName, who: InSession, index: Index, queueing: JobQueue
) -> Answer[str]:
    """Queue the change of a track to its album's template, or the Portal template."""
    track = tracks.find_own_track(index, track_id, who.viewer)
    job = await queueing.track(who, track, WantedSettings(settings=None), NO_KEY)
    return responses.redirect_with_notice(f"/portal/jobs/{job.id}", "change-begun")


@routes.deed(
    "/portal/tracks/{track_id}/audio",
    requires=("track", "blobs"),
    raises=(TooLarge, UnsupportedMediaType, *OWN, *REFUSALS),
)
async def replace_recording(
    track_id: TrackName,
    sent: AudioForm,
    who: InSession,
    accept: Accept,
    index: Index,
    receiving: UploadIntake,
    desk: PortalPages,
) -> Answer[str]:
    """Replace a track's recording. The track keeps its address, likes and comments."""
    uri = tracks.track_uri(tracks.find_own_track(index, track_id, who.viewer))
    try:
        upload = await receiving.replace(who, uri, sent.wanted().file, sent.once)
    except ApiError as error:
        tried = form_errors.form_errors("audio", sent, error, accept, at="file")
        return await desk.track(who, track_id, tried)
    return responses.redirect_with_notice(f"/portal/uploads/{upload.id}", "upload-begun")


@routes.deed(
    "/portal/tracks/{track_id}/revisions/{revision_id}/restore",
    requires=("track", "blobs"),
    raises=(*OWN, *REFUSALS),
)
async def restore_recording(
    track_id: TrackName,
    revision_id: int,
    who: InSession,
    index: Index,
    state: State,
    receiving: UploadIntake,
) -> Answer[str]:
    """Restore an earlier recording of a track."""
    uri = tracks.track_uri(tracks.find_own_track(index, track_id, who.viewer))
    version = await state.revisions.find(uri, revision_id)
    if version is None:
        raise NotFound("There is no such recording.")
    upload = await receiving.restore(who, version)
    return responses.redirect_with_notice(f"/portal/uploads/{upload.id}", "restoring-begun")


@routes.deed("/portal/tracks/{track_id}/delete", requires=("track",), raises=(*OWN, *REFUSALS))
async def drop_track(
    track_id: TrackName, who: InSession, index: Index, deleting: TrackDeletion
) -> Answer[str]:
    """Delete a track: its record at the artist's server, and its audio on this service."""
    await deleting.delete(who, tracks.find_own_track(index, track_id, who.viewer))
    return responses.redirect_with_notice("/portal", "track-deleted")
