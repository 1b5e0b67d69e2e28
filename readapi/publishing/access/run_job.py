"""Runs one publishing job track by track; each track gets one outcome, independent of the others."""

import asyncio
from functools import partial

import structlog

from readapi.errors import ApiError
from readapi.index.folders import FOLLOW_SECONDS
from readapi.pds.writing import Writing
from readapi.publishing import retries
from readapi.publishing.access.change_track import AccessChange, Fence
from readapi.publishing.retries import GivenUp, Overridden
from readapi.state.db.claims import Attempt, Claimant, TakenOver
from readapi.state.publishing.jobs import Job, JobRequest, JobTrack
from readapi.state.publishing.uploads import Status
from readapi.state.state import State
from schemas.settings import Settings

log = structlog.get_logger()

TURN_SECONDS = 60.0  # after which other jobs come first
NO_RECALL = "Copies that others have already made cannot be recalled."
NOT_SHOWN = "The index did not show it yet."


class JobWork:
    """Resumes an interrupted job: a track that has an outcome is not processed again."""

    def __init__(
        self,
        settings: Settings,
        state: State,
        changing: AccessChange,
        writing: Writing,
        turn_seconds: float = TURN_SECONDS,
    ) -> None:
        self._longest_seconds = settings.job_seconds
        self._most_tries = settings.job_tries
        self._turn_seconds = turn_seconds
        self._now = state.database.now
        self._jobs = state.jobs
        self._preferences = state.preferences
        self._changing = changing
        self._writing = writing

    async def run(self, job_id: str, claimant: Claimant, attempt: Attempt) -> None:
        """Process the pending tracks, as many as fit into one turn. `attempt`: at the next track.

        Raises TakenOver, and every transient error, so that the job is retried.
        """
        job = await self._jobs.find(job_id)
        assert job is not None
        until = asyncio.get_running_loop().time() + self._turn_seconds
        pending = [track for track in job.tracks if track.outcome == "pending"]
        for number, track in enumerate(pending):
            if number and asyncio.get_running_loop().time() > until:
                return
            fence = partial(self._jobs.claims.check, job_id, claimant)
            outcome = await self._outcome(job.asked, track, attempt, fence)
            if not await self._jobs.settle_track(job_id, claimant, outcome):
                raise TakenOver
            attempt = Attempt(1, self._now())
        done = await self._jobs.find(job_id)
        assert done is not None
        await self._jobs.complete(job_id, claimant, *summarise_job(done, await self._shown(done)))

    async def _outcome(self, asked: JobRequest, track: JobTrack, attempt: Attempt, fence: Fence) -> JobTrack:
        """Change one track and return it with its outcome."""
        try:
            is_shown = await self._change(asked, track, attempt, fence)
        except TakenOver:
            raise
        except Overridden:
            return JobTrack(track.uri, track.id, "preserved")
        except Exception as error:
            if retries.may_pass(error, attempt, self._now() - attempt.since, self._most_tries):
                raise
            log.info("track not changed", track=str(track.uri), exc_info=True)
            if not await self._was_done(asked, track, attempt):
                return JobTrack(track.uri, track.id, "failed", *retries.describe_error(error))
            is_shown = await self._writing.seen(track.uri)
        return JobTrack(track.uri, track.id, "updated", message=None if is_shown else NOT_SHOWN)

    async def _change(self, asked: JobRequest, track: JobTrack, attempt: Attempt, fence: Fence) -> bool:
        if attempt.number > self._most_tries:
            raise GivenUp
        rights = (await self._preferences.of(asked.did)).rights
        async with asyncio.timeout(self._longest_seconds):
            return await self._changing.change(asked, track.uri, asked, rights, fence)

    async def _was_done(self, asked: JobRequest, track: JobTrack, attempt: Attempt) -> bool:
        """Whether the change was made although an attempt failed; False if this check keeps crashing."""
        if attempt.number > 2 * self._most_tries:
            return False
        rights = (await self._preferences.of(asked.did)).rights
        try:
            return await self._changing.was_done(asked, track.uri, asked, rights)
        except ApiError:
            return False

    async def _shown(self, job: Job) -> bool:
        """Whether the index shows all changes; waits once for all tracks that it did not show yet."""
        late = [track.uri for track in job.tracks if track.outcome == "updated" and track.message]
        is_shown = not late or await self._writing.shown(*late)
        await asyncio.sleep(2 * FOLLOW_SECONDS)  # the API's workers look as often
        return is_shown


def summarise_job(job: Job, is_shown: bool) -> tuple[Status, str]:
    """The final status and message of a job whose tracks all have outcomes."""
    failed = sum(track.outcome == "failed" for track in job.tracks)
    updated = sum(track.outcome == "updated" for track in job.tracks)
    not_shown = "" if is_shown else " The index does not show all of them yet."
    if failed:
        return "failed", f"{_tracks(failed)} could not be changed; {_tracks(updated)} could.{not_shown}"
    return "completed", with_warning(f"{_tracks(updated)} changed.{not_shown}", job.asked)


def with_warning(message: str, asked: JobRequest) -> str:
    """The message, with a warning if the job narrows access: existing copies cannot be recalled."""
    return f"{message} {NO_RECALL}" if asked.narrows else message


def _tracks(count: int) -> str:
    return "1 track" if count == 1 else f"{count} tracks"
