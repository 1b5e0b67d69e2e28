"""Fetches repos in a process of its own while many wait: checking them takes as long as storing them.

The process is started when it is needed, and ends after a while without work. When it dies, the fetches under
way fail as if no server had answered, and the next one starts another.
"""

import asyncio
import contextlib
import itertools
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from typing import Final

import structlog

from indexer.network.http.client import Unreachable
from indexer.repo.extract import Fetched
from indexer.repo.signing_keys import Key
from indexer.sync import fetch_worker
from indexer.sync.fetch_worker import Done, Failure, Heard, Job, Task, read_message, write_message
from schemas.ids import Did

MANY_REPOS: Final = 32  # waiting: enough to be worth the half second that a process takes to start
IDLE_SECONDS: Final = 30.0
# Not `-m`: pickle would know the module's classes by another name.
_PROGRAM: Final = f"from {fetch_worker.__name__} import run; run()"

log = structlog.get_logger()


class FetchProcess:
    """`heard` is called with each host's name and `Date` header, as this process's own clients do."""

    def __init__(self, task: Task, heard: Callable[[str | None, str | None], None]) -> None:
        self._task = task
        self._heard = heard
        self._starting = asyncio.Lock()
        self._worker: _Worker | None = None
        self._ending: asyncio.TimerHandle | None = None

    def is_worth_it(self, repos: int) -> bool:
        """True while the process runs, or when so many repos wait and there is a second core for it."""
        return self._running is not None or (repos >= MANY_REPOS and _cores() > 1)

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""
        return None if self._running is None else self._running.process.pid

    async def fetch(self, pds: str, did: Did, key: Key) -> Fetched:
        """As `fetch.fetch_repo`, which raises the same."""
        if self._ending is not None:
            self._ending.cancel()
        async with self._starting:
            worker = self._worker = self._running or await self._started()
        try:
            return await worker.fetch(pds, did, key)
        finally:
            if worker is self._worker and not worker.is_busy:
                self._ending = asyncio.get_running_loop().call_later(IDLE_SECONDS, worker.close)

    async def close(self) -> None:
        """End the process."""
        if self._ending is not None:
            self._ending.cancel()
        if self._worker is not None:
            self._worker.close()
            await self._worker.ended

    @property
    def _running(self) -> "_Worker | None":
        return self._worker if self._worker is not None and self._worker.is_open else None

    async def _started(self) -> "_Worker":
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _PROGRAM, stdin=PIPE, stdout=PIPE
        )
        log.info("fetching repos in a process of its own", pid=process.pid)
        return _Worker(process, self._task, self._heard)


class _Worker:
    """One process, from its start to its end."""

    def __init__(self, process: Process, task: Task, heard: Callable[[str | None, str | None], None]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.is_open = True
        self._heard = heard
        self._output, self._input = process.stdin, process.stdout
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Fetched]] = {}
        self.ended = asyncio.create_task(self._read())
        write_message(self._output, task)

    @property
    def is_busy(self) -> bool:
        return bool(self._waiting)

    async def fetch(self, pds: str, did: Did, key: Key) -> Fetched:
        job = Job(next(self._numbers), pds, did, key.multibase)
        waiting: asyncio.Future[Fetched] = asyncio.get_running_loop().create_future()
        self._waiting[job.number] = waiting
        try:
            write_message(self._output, job)
            return await waiting
        finally:
            self._waiting.pop(job.number, None)

    def close(self) -> None:
        """Close its input, at which it ends."""
        self.is_open = False
        self._output.close()

    async def _read(self) -> None:
        """Take what the process says until it ends."""
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    self._take(await read_message(self._input))
        except BaseException:
            self.process.kill()  # it talks nonsense; one that has ended needs no signal
            raise
        finally:
            self.is_open = False
            code = await self.process.wait()
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(Unreachable(f"the process for fetches ended with code {code}"))

    def _take(self, message: Done | Heard) -> None:
        match message:
            case Heard(host, date):
                self._heard(host, date)
            case Done(number, result):
                self._done(number, result)

    def _done(self, number: int, result: Fetched | Failure) -> None:
        waiting = self._waiting.get(number)
        if waiting is None or waiting.done():
            return
        if isinstance(result, Failure):
            waiting.set_exception(result.error())
        else:
            waiting.set_result(result)


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
