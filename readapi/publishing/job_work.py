"""One publishing job, track by track: each is told of once, and none takes another back."""

import asyncio
from functools import partial

import structlog

from readapi.errors import ApiError
from readapi.index_folders import FOLLOW_SECONDS
from readapi.publishing import failures
from readapi.publishing.changing import Changing, Fence
from readapi.publishing.failures import GivenUp, Overridden
from readapi.state.claims import Attempt, Claimant, TakenOver
from readapi.state.jobs import Asked, Job, JobTrack
from readapi.state.state import State
from readapi.state.uploads import Status
from readapi.writing import Writing
from schemas.settings import Settings

log = structlog.get_logger()

TURN_SECONDS = 60.0  # after which others come first
NO_RECALL = "Copies that others made while they could cannot be recalled."
NOT_SHOWN = "The index did not show it yet."


class JobWork:
    """Goes on where it was left: a track that has an outcome keeps it."""

    def __init__(
        self,
        settings: Settings,
        state: State,
        changing: Changing,
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
        """Do what is left of it, or as much as there is time for. `attempt`: at its next track.

        Raises TakenOver, and whatever may pass, for another try.
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
        await self._jobs.complete(job_id, claimant, *summary(done, await self._shown(done)))

    async def _outcome(self, asked: Asked, track: JobTrack, attempt: Attempt, fence: Fence) -> JobTrack:
        """The track, and what became of it."""
        try:
            is_shown = await self._change(asked, track, attempt, fence)
        except TakenOver:
            raise
        except Overridden:
            return JobTrack(track.uri, track.id, "preserved")
        except Exception as error:
            if failures.may_pass(error, attempt, self._now() - attempt.since, self._most_tries):
                raise
            log.info("track not changed", track=str(track.uri), exc_info=True)
            if not await self._was_done(asked, track, attempt):
                return JobTrack(track.uri, track.id, "failed", *failures.told(error))
            is_shown = await self._writing.seen(track.uri)
        return JobTrack(track.uri, track.id, "updated", message=None if is_shown else NOT_SHOWN)

    async def _change(self, asked: Asked, track: JobTrack, attempt: Attempt, fence: Fence) -> bool:
        if attempt.number > self._most_tries:
            raise GivenUp
        rights = (await self._preferences.of(asked.did)).rights
        async with asyncio.timeout(self._longest_seconds):
            return await self._changing.change(asked, track.uri, asked, rights, fence)

    async def _was_done(self, asked: Asked, track: JobTrack, attempt: Attempt) -> bool:
        """Was it done, though a try failed? Not asked any more when asking ends the worker as well."""
        if attempt.number > 2 * self._most_tries:
            return False
        rights = (await self._preferences.of(asked.did)).rights
        try:
            return await self._changing.was_done(asked, track.uri, asked, rights)
        except ApiError:
            return False

    async def _shown(self, job: Job) -> bool:
        """Does everybody see what was done? Those that came late are waited for together."""
        late = [track.uri for track in job.tracks if track.outcome == "updated" and track.message]
        is_shown = not late or await self._writing.shown(*late)
        await asyncio.sleep(2 * FOLLOW_SECONDS)  # the API's workers look as often
        return is_shown


def summary(job: Job, is_shown: bool) -> tuple[Status, str]:
    """How a job ended, when all its tracks have outcomes."""
    failed = sum(track.outcome == "failed" for track in job.tracks)
    updated = sum(track.outcome == "updated" for track in job.tracks)
    not_shown = "" if is_shown else " The index does not show all of them yet."
    if failed:
        return "failed", f"{_tracks(failed)} could not be changed; {_tracks(updated)} could.{not_shown}"
    return "completed", with_warning(f"{_tracks(updated)} changed.{not_shown}", job.asked)


def with_warning(message: str, asked: Asked) -> str:
    """What somebody should know who takes something back."""
    return f"{message} {NO_RECALL}" if asked.narrows else message


def _tracks(count: int) -> str:
    return "1 track" if count == 1 else f"{count} tracks"
