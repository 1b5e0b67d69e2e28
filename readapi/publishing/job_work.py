"""One publishing job, track by track: each is told of once, and none takes another back."""

from collections.abc import Callable

import structlog

from readapi.publishing import failures
from readapi.publishing.changing import Changing
from readapi.publishing.failures import Overridden
from readapi.state.claims import Claimant, TakenOver
from readapi.state.jobs import Asked, Job, JobTrack
from readapi.state.state import State
from readapi.state.uploads import Status

log = structlog.get_logger()

NO_RECALL = "Copies that others made while they could cannot be recalled."

MayPass = Callable[[Exception], bool]


class JobWork:
    """Goes on where it was left: a track that has an outcome keeps it."""

    def __init__(self, state: State, changing: Changing) -> None:
        self._jobs = state.jobs
        self._preferences = state.preferences
        self._changing = changing

    async def run(self, job: Job, claimant: Claimant, may_pass: MayPass) -> None:
        """Do what is left of it. Raises TakenOver, and whatever may pass, for another try."""
        for track in job.tracks:
            if track.outcome == "pending":
                if not await self._jobs.claims.renew(job.id, claimant):
                    raise TakenOver
                outcome = await self._outcome(job.asked, track, may_pass)
                if not await self._jobs.settle_track(job.id, claimant, outcome):
                    raise TakenOver
        done = await self._jobs.find(job.id)
        assert done is not None
        await self._jobs.complete(job.id, claimant, *summary(done))

    async def _outcome(self, asked: Asked, track: JobTrack, may_pass: MayPass) -> JobTrack:
        """The track, and what became of it."""
        try:
            rights = (await self._preferences.of(asked.did)).rights
            await self._changing.change(asked, track.uri, asked, rights)
        except Overridden:
            return JobTrack(track.uri, track.id, "preserved")
        except Exception as error:
            if may_pass(error):
                raise
            log.info("track not changed", track=str(track.uri), exc_info=True)
            return JobTrack(track.uri, track.id, "failed", *failures.told(error))
        return JobTrack(track.uri, track.id, "updated")


def summary(job: Job) -> tuple[Status, str]:
    """How a job ended, when all its tracks have outcomes."""
    failed = sum(track.outcome == "failed" for track in job.tracks)
    updated = sum(track.outcome == "updated" for track in job.tracks)
    if failed:
        return "failed", f"{_tracks(failed)} could not be changed; {_tracks(updated)} could."
    return "completed", with_warning(f"{_tracks(updated)} changed.", job.asked)


def with_warning(message: str, asked: Asked) -> str:
    """What somebody should know who takes something back."""
    return f"{message} {NO_RECALL}" if asked.narrows else message


def _tracks(count: int) -> str:
    return "1 track" if count == 1 else f"{count} tracks"
