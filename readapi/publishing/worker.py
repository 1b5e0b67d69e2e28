"""The job worker: claims uploads and publishing jobs in the state database, runs and settles them."""

import asyncio
import dataclasses
import os
import socket
import uuid
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import structlog
from sqlalchemy.exc import SQLAlchemyError

from readapi.publishing import retries
from readapi.publishing.access.run_job import JobWork
from readapi.publishing.retries import GivenUp
from readapi.publishing.slots import Displaced, JobSlots, Slot
from readapi.publishing.uploads.examine import UploadExamination
from readapi.publishing.uploads.publish import Say, UploadRun
from readapi.state.db.claims import Attempt, Claimant, Claims, TakenOver, WaitingRows
from readapi.state.publishing.uploads import Upload
from readapi.state.state import State
from schemas.settings import Settings

log = structlog.get_logger()

LOOK_SECONDS = 0.25
AT_ONCE = timedelta(0)
DONE_AFTER_ALL = "The track has the requested settings."
NOT_SHOWN = "The index does not show it yet."
RENEWALS = 3  # within the time that a claim lasts

Work = Callable[[str, Claimant, Attempt], Coroutine[Any, Any, None]]


class Worker:
    """Runs several jobs at once, each under a renewed claim, and releases the claims on cancellation."""

    def __init__(
        self,
        settings: Settings,
        state: State,
        examining: UploadExamination,
        uploading: UploadRun,
        job_work: JobWork,
        slots: JobSlots | None = None,
    ) -> None:
        name = f"{socket.gethostname()} {os.getpid()} {uuid.uuid4().hex[:8]}"
        self._claimant = Claimant(name, timedelta(seconds=settings.claim_seconds))
        self._slots = slots or JobSlots(settings.job_workers)
        self._longest_seconds = settings.job_seconds
        self._most_tries = settings.job_tries
        self._state = state
        self._examining = examining
        self._uploading = uploading
        self._job_work = job_work

    async def run(self) -> None:
        """Work until cancelled."""
        uploads, jobs = self._state.uploads.claims, self._state.jobs.claims
        waiting = WaitingRows(self._state.database, uploads, jobs)
        async with asyncio.TaskGroup() as group:
            while True:
                found = await self._is_any(waiting) and [
                    await self._begin(group, uploads, self._upload),
                    await self._begin(group, jobs, self._job_work.run),
                ]
                if not (found and any(found)):
                    await asyncio.sleep(LOOK_SECONDS)

    @staticmethod
    async def _is_any(waiting: WaitingRows) -> bool:
        try:
            return await waiting.exist()
        except (SQLAlchemyError, OSError):
            log.exception("no work can be found")
            return False

    async def _begin(self, group: asyncio.TaskGroup, claims: Claims, work: Work) -> bool:
        """Wait for a free slot and start the next row in it; False when no row waits."""
        slot = await self._slots.slot()
        claimant = self._claimant.anew()
        try:
            row_id = await claims.claim(claimant)
        except (SQLAlchemyError, OSError):
            log.exception("nothing can be claimed")
            row_id = None
        if row_id is None:
            slot.end()
            return False
        working = group.create_task(self._work(claims, work, row_id, claimant, slot))
        working.add_done_callback(lambda _: slot.end())
        return True

    async def _work(self, claims: Claims, work: Work, row_id: str, claimant: Claimant, slot: Slot) -> None:
        try:
            await self._try(claims, work, row_id, claimant, slot)
        except Exception:
            log.exception("job worker failed", row=row_id)

    async def _try(self, claims: Claims, work: Work, row_id: str, claimant: Claimant, slot: Slot) -> None:
        """Run the job while this worker holds the claim, then release the claim."""
        again, is_counted = AT_ONCE, False
        try:
            attempt = await claims.attempt(row_id)
            working = work(row_id, claimant, attempt)
            error = await self._while_ours(claims, row_id, claimant, working, slot)
            if error is not None:
                log.warning("job is tried again", row=row_id, error=str(error)[:200])
                again, is_counted = retries.next_pause(self._waited(attempt)), retries.is_ours(error)
        finally:
            await claims.give_back(row_id, claimant, again, is_counted=is_counted)

    async def _while_ours(
        self,
        claims: Claims,
        row_id: str,
        claimant: Claimant,
        work: Coroutine[Any, Any, None],
        slot: Slot,
    ) -> BaseException | None:
        """Run until done, displaced, or claimed by another worker; returns the error, if any."""
        working = asyncio.create_task(work)
        displaced = asyncio.create_task(slot.displaced.wait())
        tasks = working, displaced, asyncio.create_task(self._renew(claims, row_id, claimant))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.exception()
            return Displaced("other work that takes long came after it") if displaced.done() else None
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _renew(self, claims: Claims, row_id: str, claimant: Claimant) -> None:
        """Renew the claim; returns when another worker has taken it over."""
        while await claims.renew(row_id, claimant):  # noqa: ASYNC110  # another process sets no event of ours
            await asyncio.sleep(self._claimant.patience.total_seconds() / RENEWALS)

    async def _upload(self, row_id: str, claimant: Claimant, attempt: Attempt) -> None:
        uploads, upload = self._state.uploads, await self._state.uploads.find(row_id)
        assert upload is not None

        async def say(phase: str, progress_pct: int, message: str) -> None:
            await uploads.advance(row_id, claimant, phase, progress_pct, message)

        try:
            if attempt.number > self._most_tries:
                raise GivenUp
            async with asyncio.timeout(self._longest_seconds):
                upload = await self._examined(upload, claimant, say)
                message = await self._uploading.run(upload, say)
        except TakenOver:
            raise
        except Exception as error:
            if retries.may_pass(error, attempt, self._waited(attempt), self._most_tries):
                raise
            log.info("upload failed", upload=row_id, exc_info=True)
            await say(upload.phase, upload.progress_pct, "The result is being checked at your server.")
            if not await self._was_done(upload, attempt):
                await uploads.fail(row_id, claimant, *retries.describe_error(error))
                await self._uploading.undo(upload)
                return
            message = DONE_AFTER_ALL
        is_shown = await self._uploading.is_shown(upload)
        await self._uploading.let_go(upload)
        await uploads.complete(row_id, claimant, message if is_shown else f"{message} {NOT_SHOWN}")

    async def _examined(self, upload: Upload, claimant: Claimant, say: Say) -> Upload:
        """The upload with its file's metadata, which is read once."""
        if upload.wanted.unexamined is None:
            return upload
        await say("examining", 5, "The file is being examined.")
        wanted = await self._examining.run(upload)
        await self._state.uploads.examined(upload.id, claimant, wanted)
        return dataclasses.replace(upload, wanted=wanted)

    async def _was_done(self, upload: Upload, attempt: Attempt) -> bool:
        """Whether the upload was done although an attempt failed; False if this check keeps crashing."""
        if attempt.number > 2 * self._most_tries or upload.wanted.unexamined is not None:
            return False
        is_last = self._waited(attempt) > retries.COMPARING
        async with asyncio.timeout(self._longest_seconds):
            return await self._uploading.compare(upload, is_last=is_last)

    def _waited(self, attempt: Attempt) -> timedelta:
        return self._state.database.now() - attempt.since
