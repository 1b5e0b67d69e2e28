"""Access of published tracks and albums, changed by jobs; preferences for new ones."""

from dataclasses import replace
from http import HTTPStatus

from readapi.answers import Answer, render_json
from readapi.errors import (
    AudienceUnavailable,
    Conflict,
    NotFound,
    NotOwner,
    PrivateAlbum,
    ScopeUpgradeRequired,
)
from readapi.http.admission import Authorization
from readapi.http.endpoint import Routes
from readapi.http.request.headers import IdempotencyKey
from readapi.http.viewer import SignedIn
from readapi.index.lookups import Index
from readapi.index.queries import lists, tracks
from readapi.index.queries.identifiers import ListName, TrackName
from readapi.publishing.access.capabilities import Capabilities
from readapi.publishing.access.enqueue import JobQueue
from readapi.publishing.access.policies import Policies, check_consistency
from readapi.publishing.access.run_job import with_warning
from readapi.state.db.claims import UNFINISHED
from readapi.state.publishing import jobs, preferences
from readapi.state.state import State
from schemas import datetimes
from schemas.api.publishing import (
    AlbumJobAccepted,
    Availability,
    ChosenPreferences,
    Failure,
    Job,
    JobAccepted,
    Preferences,
    WantedAlbumSettings,
    WantedSettings,
)
from schemas.api.publishing import (
    Capabilities as CapabilitiesTold,
)
from schemas.publishing import DEFAULT

routes = Routes("publishing")

QUEUED = "The change is queued. Request the job to follow it."
WHILE_PENDING = {"Retry-After": "1"}


@routes.post(
    "/tracks/{track_id}/publishing",
    requires=("track", "blobs"),
    raises=(NotOwner, AudienceUnavailable, Conflict),
    status=HTTPStatus.ACCEPTED,
)
async def publish_anew(
    track_id: TrackName,
    sent: WantedSettings,
    key: IdempotencyKey,
    index: Index,
    who: SignedIn,
    queueing: JobQueue,
) -> JobAccepted:
    """Queue a change of who may hear, download and find your track.

    A repeated request with the same `Idempotency-Key` returns the same job.
    """
    job = await queueing.track(who, tracks.find_own_track(index, track_id, who.viewer), sent, key)
    return JobAccepted(job_id=job.id, status=job.status, message=with_warning(QUEUED, job.asked))


@routes.post(
    "/albums/{album_id}/publishing",
    requires=("track", "blobs"),
    raises=(NotOwner, AudienceUnavailable, PrivateAlbum, Conflict),
    status=HTTPStatus.ACCEPTED,
)
async def publish_album_anew(
    album_id: ListName,
    sent: WantedAlbumSettings,
    key: IdempotencyKey,
    index: Index,
    who: SignedIn,
    queueing: JobQueue,
) -> AlbumJobAccepted:
    """Set your album's template, and queue the change of its tracks.

    Each track succeeds or fails on its own.
    """
    job = await queueing.album(who, lists.find_own_list(index, "album", album_id, who.did), sent, key)
    return AlbumJobAccepted(
        job_id=job.id,
        status=job.status,
        message=with_warning(QUEUED, job.asked),
        selected_track_ids=_ids(job, *SELECTED),
        preserved_track_ids=_ids(job, "preserved"),
    )


@routes.get("/tracks/publishing-jobs/{job_id}", acts=True)
async def get_publishing_job(job_id: str, who: SignedIn, state: State) -> Answer[Job]:
    """Get the progress of one of your publishing jobs, by track. `Retry-After` says when to ask again."""
    job = await state.jobs.find(job_id)
    if job is None or job.asked.did != who.did:
        raise NotFound("There is no such job.")
    return Answer(render_json(_job_shape(job)), headers=WHILE_PENDING if job.status in UNFINISHED else {})


@routes.get("/capabilities", acts=True)
async def get_capabilities(who: SignedIn, capabilities: Capabilities) -> CapabilitiesTold:
    """List the audiences that you may choose, and the reasons why others are unavailable."""
    listening, downloads = await capabilities.listening(who), capabilities.downloads()
    return CapabilitiesTold(
        audiences={name: _availability(reason) for name, reason in listening.items()},
        downloads={name: _availability(reason) for name, reason in downloads.items()},
    )


@routes.get("/preferences/", acts=True)
async def get_preferences(who: SignedIn, state: State) -> Preferences:
    """Get your preferences: the Portal template, scrobbling, the rights to attach, and what others see."""
    return _chosen(await state.preferences.of(who.did))


@routes.put("/preferences/", raises=(AudienceUnavailable, ScopeUpgradeRequired))
async def put_preferences(
    sent: ChosenPreferences, who: SignedIn, state: State, policies: Policies, admission: Authorization
) -> Preferences:
    """Replace your preferences. The members `rights` and `show_playing` stay as saved if they are absent.

    Rights are the owner and parties that templates attach. Send an ISRC or ISWC with the track it belongs to.
    """
    field = "publishing_defaults"

    def change(saved: preferences.Preferences) -> preferences.Preferences:
        rights = sent.rights if "rights" in sent.model_fields_set else saved.rights
        check_consistency(sent.publishing_defaults, field, has_rights=rights is not None)
        return replace(
            saved,
            publishing_defaults=sent.publishing_defaults,
            scrobbling=sent.scrobbling,
            rights=rights,
            show_playing=saved.show_playing if sent.show_playing is None else sent.show_playing,
        )

    wanted = change(await state.preferences.of(who.did))
    await policies.check(who, sent.publishing_defaults, field, has_rights=wanted.rights is not None)
    if sent.scrobbling:
        admission.check_scopes(who, "scrobbling")
    chosen = await state.preferences.change(who.did, change)
    if not chosen.show_playing:
        await state.playing_now.end(who.did)
    return _chosen(chosen)


SELECTED = ("pending", "updated", "failed")


def _ids(job: jobs.Job, *outcomes: str) -> list[int]:
    return [track.id for track in job.tracks if track.outcome in outcomes]


def _job_shape(job: jobs.Job) -> Job:
    return Job(
        job_id=job.id,
        status=job.status,
        message=job.message,
        selected_track_ids=_ids(job, *SELECTED),
        preserved_track_ids=_ids(job, "preserved"),
        updated_track_ids=_ids(job, "updated"),
        failed_track_ids=_ids(job, "failed"),
        failures=[
            Failure(track_id=track.id, reason=str(track.reason), message=str(track.message))
            for track in job.tracks
            if track.outcome == "failed"
        ],
        created_at=datetimes.render(job.created_at),
        completed_at=None if job.completed_at is None else datetimes.render(job.completed_at),
    )


def _availability(reason: str | None) -> Availability:
    return Availability(available=reason is None, reason=reason)


def _chosen(chosen: preferences.Preferences) -> Preferences:
    return Preferences(
        publishing_defaults=chosen.publishing_defaults or DEFAULT,
        scrobbling=chosen.scrobbling,
        rights=chosen.rights,
        show_playing=chosen.show_playing,
    )
