"""Uploads: new tracks, replacements of a track's audio, and earlier versions of it."""

from http import HTTPStatus

from aiohttp import web

from readapi.answers import EVENT_STREAM
from readapi.errors import (
    ArtistProfileRequired,
    AudienceUnavailable,
    Conflict,
    NotFound,
    NotOwner,
    TooLarge,
    UnsupportedMediaType,
)
from readapi.http.endpoint import Routes
from readapi.http.request.headers import IdempotencyKey, LastEventId
from readapi.http.viewer import SignedIn
from readapi.index.lookups import Index
from readapi.index.queries import tracks
from readapi.index.queries.identifiers import TrackName
from readapi.pds.repo import REFUSALS
from readapi.publishing.uploads import progress
from readapi.publishing.uploads.progress import UploadWatch
from readapi.publishing.uploads.receive import UploadIntake
from readapi.state.publishing import revisions as state_revisions
from readapi.state.publishing.uploads import Upload
from readapi.state.state import State
from schemas import datetimes
from schemas.api.publishing import (
    NewAudio,
    NewTrack,
    Revision,
    Revisions,
    UploadAccepted,
    UploadProgress,
)

routes = Routes("publishing")

ACCEPTED = HTTPStatus.ACCEPTED
OF_FILES = (TooLarge, UnsupportedMediaType, *REFUSALS)


@routes.post(
    "/tracks/",
    requires=("track", "blobs"),
    raises=(ArtistProfileRequired, AudienceUnavailable, NotFound, NotOwner, *OF_FILES),
    status=ACCEPTED,
)
async def publish_track(
    sent: NewTrack, key: IdempotencyKey, who: SignedIn, receiving: UploadIntake
) -> UploadAccepted:
    """Publish a track: an audio file and its metadata, sent as multipart/form-data.

    When this answers, the file is stored durably and will be published as your record, unless it turns out
    not to be audio. Request the upload to follow its progress. A repeated request with the same
    `Idempotency-Key`, form and file returns the same upload.
    """
    return _accepted(await receiving.publish(who, sent, key))


@routes.get("/tracks/uploads/{upload_id}", acts=True)
async def get_upload(upload_id: str, who: SignedIn, state: State, watched: UploadWatch) -> UploadProgress:
    """Get the progress of your upload."""
    return watched.describe_state(await progress.find_upload(state, upload_id, who))


@routes.get("/tracks/uploads/{upload_id}/progress", acts=True, media_types=(EVENT_STREAM,))
async def watch_upload(
    upload_id: str, who: SignedIn, last_seen: LastEventId, state: State, watched: UploadWatch
) -> web.StreamResponse:
    """Stream the progress of your upload as server-sent events.

    With `Last-Event-ID`, only newer events are sent; 204 means that there are no more. A connection ends
    after five minutes, or with its session or token. Each account may have four open at a time.
    """
    upload = await progress.find_upload(state, upload_id, who)
    if upload.is_settled and upload.version <= last_seen.version:
        return web.Response(status=HTTPStatus.NO_CONTENT)
    return watched.events(upload, last_seen.version, who)


@routes.put(
    "/tracks/{track_id}/audio",
    requires=("track", "blobs"),
    raises=(NotOwner, Conflict, *OF_FILES),
    status=ACCEPTED,
)
async def replace_audio(
    track_id: TrackName,
    sent: NewAudio,
    key: IdempotencyKey,
    index: Index,
    who: SignedIn,
    receiving: UploadIntake,
) -> UploadAccepted:
    """Replace your track's audio. The track keeps its id, likes and comments.

    A repeated request with the same `Idempotency-Key` and file returns the same upload.
    """
    track = tracks.find_own_track(index, track_id, who.viewer)
    return _accepted(await receiving.replace(who, tracks.track_uri(track), sent.file, key))


@routes.get("/tracks/{track_id}/revisions", raises=(NotOwner, Conflict), acts=True)
async def list_revisions(track_id: TrackName, index: Index, who: SignedIn, state: State) -> Revisions:
    """List the last ten earlier versions of your track's audio, newest first."""
    track = tracks.track_uri(tracks.find_own_track(index, track_id, who.viewer))
    versions = await state.revisions.of(track)
    return Revisions(
        track_id=tracks.public_id(index, track),
        revisions=[_revision_shape(index, version) for version in versions],
    )


@routes.post(
    "/tracks/{track_id}/revisions/{revision_id}/restore",
    requires=("track", "blobs"),
    raises=(NotOwner, Conflict, *OF_FILES),
)
async def restore_revision(
    track_id: TrackName,
    revision_id: int,
    index: Index,
    who: SignedIn,
    state: State,
    receiving: UploadIntake,
    watched: UploadWatch,
) -> Revision:
    """Restore an earlier version of your track's audio. Answers when that is done.

    Returns the version that was replaced, which is now the newest earlier version.
    """
    track = tracks.track_uri(tracks.find_own_track(index, track_id, who.viewer))
    version = await state.revisions.find(track, revision_id)
    if version is None:
        raise NotFound("There is no such version.")
    await watched.completed(await receiving.restore(who, version))
    newest, *_ = await state.revisions.of(track) or [version]
    return _revision_shape(index, newest)


def _accepted(upload: Upload) -> UploadAccepted:
    return UploadAccepted(upload_id=upload.id, status=upload.status, message=upload.message)


def _revision_shape(index: Index, version: state_revisions.Revision) -> Revision:
    return Revision(
        id=version.id,
        track_id=tracks.public_id(index, version.track),
        created_at=datetimes.render(version.created_at),
        file_type=version.audio.file_type,
        original_file_type=version.audio.file_type,
        audio_storage=version.storage,
        duration=version.audio.duration,
        was_gated=version.access.listening != "public",
    )
