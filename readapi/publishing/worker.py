"""The job worker: claims what waits in the state database, works at it, and settles it."""

import asyncio
import os
import socket
import uuid
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog

from readapi.publishing import failures
from readapi.publishing.job_work import JobWork
from readapi.publishing.uploading import Uploading
from readapi.state.claims import Claimant, Claims, TakenOver
from readapi.state.state import State
from schemas.settings import Settings

log = structlog.get_logger()

LOOK_SECONDS = 0.25
AT_ONCE, LATER, LATEST = timedelta(0), timedelta(seconds=5), timedelta(minutes=5)
DONE_AFTER_ALL = "The track is as it was asked for."
RENEWALS = 3  # within the time that a claim lasts

Work = Callable[[str, Claimant], Coroutine[Any, Any, None]]


class Worker:
    """Works at several rows at once, each claimed and renewed; gives them back when it is told to stop."""

    def __init__(self, settings: Settings, state: State, uploading: Uploading, job_work: JobWork) -> None:
        name = f"{socket.gethostname()} {os.getpid()} {uuid.uuid4().hex[:8]}"
        self._claimant = Claimant(name, timedelta(seconds=settings.claim_seconds))
        self._at_once = settings.job_workers
        self._state = state
        self._uploading = uploading
        self._job_work = job_work
        self._tries: Counter[str] = Counter()

    async def run(self) -> None:
        """Work until cancelled."""
        kinds = [(self._state.uploads.claims, self._upload), (self._state.jobs.claims, self._job)]
        async with asyncio.TaskGroup() as group:
            for _ in range(self._at_once):
                group.create_task(self._work(kinds))

    async def _work(self, kinds: Sequence[tuple[Claims, Work]]) -> None:
        while True:
            try:
                found = [await self._next(claims, work) for claims, work in kinds]
            except Exception:
                log.exception("job worker failed")
                found = []
            if not any(found):
                await asyncio.sleep(LOOK_SECONDS)

    async def _next(self, claims: Claims, work: Work) -> bool:
        """Work at the row that has waited longest; False when none waits."""
        claimant = self._claimant.anew()
        row_id = await claims.claim(claimant)
        if row_id is None:
            return False
        self._tries[row_id] += 1
        working = asyncio.create_task(work(row_id, claimant))
        renewing = asyncio.create_task(self._renew(claims, row_id, claimant))
        again = AT_ONCE
        try:
            await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
            if working.done() and (error := working.exception()) is not None:
                log.warning("job is tried again", row=row_id, error=str(error)[:200])
                again = min(self._tries[row_id] * LATER, LATEST)
            else:
                del self._tries[row_id]
        finally:
            working.cancel()
            renewing.cancel()
            await asyncio.gather(working, renewing, return_exceptions=True)
            await claims.give_back(row_id, claimant, again)
        return True

    async def _renew(self, claims: Claims, row_id: str, claimant: Claimant) -> None:
        """Returns when somebody else has taken the row over."""
        while await claims.renew(row_id, claimant):  # noqa: ASYNC110  # time passes, nothing happens
            await asyncio.sleep(self._claimant.patience.total_seconds() / RENEWALS)

    async def _upload(self, row_id: str, claimant: Claimant) -> None:
        uploads, upload = self._state.uploads, await self._state.uploads.find(row_id)
        assert upload is not None

        async def say(phase: str, progress_pct: int, message: str) -> None:
            await uploads.advance(row_id, claimant, phase, progress_pct, message)

        try:
            message = await self._uploading.run(upload, say)
        except TakenOver:
            raise
        except Exception as error:
            if self._may_pass(row_id, upload.created_at, error):
                raise
            log.info("upload failed", upload=row_id, exc_info=True)
            await say(upload.phase, upload.progress_pct, "What was begun is being compared with your server.")
            is_last = self._state.database.now() - upload.created_at > failures.COMPARING
            if not await self._uploading.compare(upload, is_last=is_last):
                await uploads.fail(row_id, claimant, *failures.told(error))
                await self._uploading.undo(upload)
                return
            message = DONE_AFTER_ALL
        await self._uploading.let_go(upload)
        await uploads.complete(row_id, claimant, message)

    async def _job(self, row_id: str, claimant: Claimant) -> None:
        job = await self._state.jobs.find(row_id)
        assert job is not None
        may_pass = partial(self._may_pass, row_id, job.created_at)
        await self._job_work.run(job, claimant, may_pass)

    def _may_pass(self, row_id: str, since: datetime, error: Exception) -> bool:
        return failures.may_pass(error, self._tries[row_id], self._state.database.now() - since)
