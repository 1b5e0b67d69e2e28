"""The job worker: claims what waits in the state database, works at it, and settles it."""

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

from readapi.publishing import failures
from readapi.publishing.examining import Examining
from readapi.publishing.failures import GivenUp
from readapi.publishing.job_work import JobWork
from readapi.publishing.lanes import Displaced, Lanes, Slot
from readapi.publishing.uploading import Say, Uploading
from readapi.state.claims import Attempt, Claimant, Claims, TakenOver
from readapi.state.state import State
from readapi.state.uploads import Upload
from schemas.settings import Settings

log = structlog.get_logger()

LOOK_SECONDS = 0.25
AT_ONCE = timedelta(0)
DONE_AFTER_ALL = "The track is as it was asked for."
NOT_SHOWN = "The index does not show it yet."
RENEWALS = 3  # within the time that a claim lasts

Work = Callable[[str, Claimant, Attempt], Coroutine[Any, Any, None]]


class Worker:
    """Works for several accounts at once, each row claimed and renewed; gives them back when told to stop."""

    def __init__(
        self,
        settings: Settings,
        state: State,
        examining: Examining,
        uploading: Uploading,
        job_work: JobWork,
        lanes: Lanes | None = None,
    ) -> None:
        name = f"{socket.gethostname()} {os.getpid()} {uuid.uuid4().hex[:8]}"
        self._claimant = Claimant(name, timedelta(seconds=settings.claim_seconds))
        self._lanes = lanes or Lanes(settings.job_workers)
        self._longest_seconds = settings.job_seconds
        self._most_tries = settings.job_tries
        self._state = state
        self._examining = examining
        self._uploading = uploading
        self._job_work = job_work

    async def run(self) -> None:
        """Work until cancelled."""
        uploads, jobs = self._state.uploads.claims, self._state.jobs.claims
        async with asyncio.TaskGroup() as group:
            while True:
                found = [
                    await self._begin(group, uploads, self._upload),
                    await self._begin(group, jobs, self._job_work.run),
                ]
                if not any(found):
                    await asyncio.sleep(LOOK_SECONDS)

    async def _begin(self, group: asyncio.TaskGroup, claims: Claims, work: Work) -> bool:
        """Have somebody who is free begin with the row whose turn it is; False when none waits."""
        slot = await self._lanes.slot()
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
        """Work at it for as long as it is ours, then let it go."""
        again, is_counted = AT_ONCE, False
        try:
            attempt = await claims.attempt(row_id)
            working = work(row_id, claimant, attempt)
            error = await self._while_ours(claims, row_id, claimant, working, slot)
            if error is not None:
                log.warning("job is tried again", row=row_id, error=str(error)[:200])
                again, is_counted = failures.later(self._waited(attempt)), failures.is_ours(error)
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
        """Work until it is done, displaced, or somebody else has the row; returns what it ended with."""
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
        """Returns when somebody else has taken the row over."""
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
            if failures.may_pass(error, attempt, self._waited(attempt), self._most_tries):
                raise
            log.info("upload failed", upload=row_id, exc_info=True)
            await say(upload.phase, upload.progress_pct, "What was begun is being compared with your server.")
            if not await self._was_done(upload, attempt):
                await uploads.fail(row_id, claimant, *failures.told(error))
                await self._uploading.undo(upload)
                return
            message = DONE_AFTER_ALL
        is_shown = await self._uploading.is_shown(upload)
        await self._uploading.let_go(upload)
        await uploads.complete(row_id, claimant, message if is_shown else f"{message} {NOT_SHOWN}")

    async def _examined(self, upload: Upload, claimant: Claimant, say: Say) -> Upload:
        """The upload once its file was read, which is done once."""
        if upload.wanted.unexamined is None:
            return upload
        await say("examining", 5, "The file is being read.")
        wanted = await self._examining.run(upload)
        await self._state.uploads.examined(upload.id, claimant, wanted)
        return dataclasses.replace(upload, wanted=wanted)

    async def _was_done(self, upload: Upload, attempt: Attempt) -> bool:
        """Was it done, though a try failed? Not asked any more when asking ends the worker as well."""
        if attempt.number > 2 * self._most_tries or upload.wanted.unexamined is not None:
            return False
        is_last = self._waited(attempt) > failures.COMPARING
        async with asyncio.timeout(self._longest_seconds):
            return await self._uploading.compare(upload, is_last=is_last)

    def _waited(self, attempt: Attempt) -> timedelta:
        return self._state.database.now() - attempt.since
