"""The Portal's page of a track: what is told of it, who may hear it, its recordings, and its end."""

from readapi.accept import Accept
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
from readapi.pages import answer, attempt, notes
from readapi.pages.desk import Desk
from readapi.pages.page_routes import PageRoutes
from readapi.pages.portal_forms import AudioForm, TemplateForm, TrackForm
from readapi.pds import REFUSALS
from readapi.publishing.deleting import Deleting
from readapi.publishing.describing import Describing
from readapi.publishing.queueing import Queueing
from readapi.publishing.receiving import Receiving
from readapi.queries import tracks
from readapi.queries.names import TrackName
from readapi.resuming import IdempotencyKey
from readapi.search import Index
from readapi.state.state import State
from readapi.viewer import InSession
from schemas.api.publishing import WantedSettings

routes = PageRoutes()
NO_KEY = IdempotencyKey()
OWN = (NotFound, NotOwner, Conflict)


@routes.page("/portal/tracks/{track_id}", raises=OWN)
async def track_desk(
    track_id: TrackName, who: InSession | None, desk: Desk, note: str | None = None
) -> Answer[str]:
    """Show artists a track of theirs, and let them look after it."""
    if who is None:
        return answer.sign_in("portal")
    return await desk.track(who, track_id, note=notes.note(note))


@routes.deed("/portal/tracks/{track_id}", requires=("track", "blobs"), raises=(TooLarge, *OWN, *REFUSALS))
async def save_track(
    track_id: TrackName,
    sent: TrackForm,
    who: InSession,
    accept: Accept,
    index: Index,
    describing: Describing,
    desk: Desk,
) -> Answer[str]:
    """Change what is told of your track."""
    uri = tracks.uri_of(tracks.own(index, track_id, who.viewer))
    try:
        await describing.change(who, uri, sent.wanted())
    except ApiError as error:
        tried = attempt.refused("details", sent.values(), error, accept)
        return await desk.track(who, track_id, tried)
    return answer.onward(f"/portal/tracks/{track_id}", "track-saved")


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
    queueing: Queueing,
    desk: Desk,
) -> Answer[str]:
    """Queue a change of who may hear, download and find your track."""
    track = tracks.own(index, track_id, who.viewer)
    try:
        job = await queueing.track(who, track, WantedSettings(settings=sent.template()), NO_KEY)
    except ApiError as error:
        tried = attempt.refused("publishing", sent.values(), error, accept)
        return await desk.track(who, track_id, tried)
    return answer.onward(f"/portal/jobs/{job.id}", "change-begun")


@routes.deed(
    "/portal/tracks/{track_id}/publishing/reset",
    requires=("track", "blobs"),
    raises=(AudienceUnavailable, *OWN, *REFUSALS),
)
async def follow_template(
    track_id: TrackName, who: InSession, index: Index, queueing: Queueing
) -> Answer[str]:
    """Queue the change of your track to what its album's template says, or the Portal template."""
    track = tracks.own(index, track_id, who.viewer)
    job = await queueing.track(who, track, WantedSettings(settings=None), NO_KEY)
    return answer.onward(f"/portal/jobs/{job.id}", "change-begun")


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
    receiving: Receiving,
    desk: Desk,
) -> Answer[str]:
    """Put another recording in place of your track's, which keeps its address, likes and comments."""
    uri = tracks.uri_of(tracks.own(index, track_id, who.viewer))
    try:
        upload = await receiving.replace(who, uri, sent.wanted().file, sent.once)
    except ApiError as error:
        tried = attempt.refused("audio", sent.values(), error, accept, at="file")
        return await desk.track(who, track_id, tried)
    return answer.onward(f"/portal/uploads/{upload.id}", "upload-begun")


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
    receiving: Receiving,
) -> Answer[str]:
    """Make an earlier recording of your track its recording again."""
    uri = tracks.uri_of(tracks.own(index, track_id, who.viewer))
    version = await state.revisions.find(uri, revision_id)
    if version is None:
        raise NotFound("There is no such recording.")
    upload = await receiving.restore(who, version)
    return answer.onward(f"/portal/uploads/{upload.id}", "restoring-begun")


@routes.deed("/portal/tracks/{track_id}/delete", requires=("track",), raises=(*OWN, *REFUSALS))
async def drop_track(track_id: TrackName, who: InSession, index: Index, deleting: Deleting) -> Answer[str]:
    """Delete your track: its record, and what is kept of its audio here."""
    await deleting.delete(who, tracks.own(index, track_id, who.viewer))
    return answer.onward("/portal", "track-deleted")
