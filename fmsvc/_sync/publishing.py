"""Who may listen, download and find: publishing templates, and the jobs that change them."""

import time
import uuid

from fmsvc._sync.http import Http
from fmsvc._sync.tracks import Tracks
from fmsvc.answers import parse_model
from fmsvc.errors import AnswerError, PublishingError
from fmsvc.models import Capabilities, DryRun, Job, PublishingDefaults, TrackRef

_POLL_SECONDS = 0.5


class Publishing:
    """The publishing template of tracks and albums."""

    def __init__(self, http: Http, tracks: Tracks) -> None:
        self._http, self._tracks = http, tracks

    def show(self, track: TrackRef) -> PublishingDefaults:
        """The template saved on a track."""
        found = (self._tracks.get(track)).publishing
        if found is None:
            raise AnswerError("The service did not state the track's publishing template.")
        return found

    def dry_run(self, track: TrackRef, settings: PublishingDefaults) -> DryRun:
        """What setting a template would change, and why the service would refuse it. Changes nothing."""
        current = (self._tracks.get(track)).publishing
        can = self._http.get(Capabilities, "capabilities", signed_in=True)
        chosen = (
            ("Listening", settings.access.listening, can.audiences),
            ("Downloads", settings.access.downloads, can.downloads),
        )
        problems = [
            f"{what} cannot be {name}: {of[name].reason or 'unavailable'}."
            for what, name, of in chosen
            if name in of and not of[name].available
        ]
        return DryRun(current=current, wanted=settings, problems=problems)

    def set(
        self,
        track: TrackRef,
        settings: PublishingDefaults | None,
        *,
        idempotency_key: str | None = None,
    ) -> Job:
        """Queue a change of a track's access; None: that of its album or account. See `client.jobs.wait`."""
        sent = {"settings": None if settings is None else settings.model_dump()}
        path = ("tracks", self._tracks.id_of(track), "publishing")
        found = self._http.ask(
            "POST", *path, sent=sent, signed_in=True, idempotency_key=idempotency_key or uuid.uuid4().hex
        )
        return parse_model(Job, found)

    def set_album(
        self,
        album: str,
        settings: PublishingDefaults | None,
        *,
        replace_overrides: bool = False,
        idempotency_key: str | None = None,
    ) -> Job:
        """The same for an album and its tracks, with `replace_overrides` all of them."""
        sent = {
            "settings": None if settings is None else settings.model_dump(),
            "replace_overrides": replace_overrides,
        }
        path = ("albums", album, "publishing")
        found = self._http.ask(
            "POST", *path, sent=sent, signed_in=True, idempotency_key=idempotency_key or uuid.uuid4().hex
        )
        return parse_model(Job, found)


class Jobs:
    """Publishing jobs."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def get(self, job_id: str) -> Job:
        """How far a job is. Needs a token."""
        return self._http.get(Job, "tracks", "publishing-jobs", job_id, signed_in=True)

    def wait(self, job_id: str, *, timeout: float = 300.0) -> Job:
        """The job when it is completed or failed. Raises PublishingError after `timeout` seconds."""
        end = time.monotonic() + timeout
        while True:
            job = self.get(job_id)
            if job.status in ("completed", "failed"):
                return job
            if time.monotonic() > end:
                raise PublishingError(f"The job {job_id} was not done in time.", code=job.status)
            time.sleep(_POLL_SECONDS)
