"""Runs strangers' statements, each in a process of its own, a few at a time."""

import asyncio
import os
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from readapi.errors import IndexNotReady, InvalidRequest, NotFound, RateLimited
from readapi.sql.limits import AT_ONCE, MOST_BYTES, OF_ONE_CLIENT, SECONDS, WAITING
from schemas.api.sql import MOST_CHARACTERS, SqlForm

_PROGRAM: Final = (sys.executable, "-m", "readapi.sql.query_process")
# Nothing of ours. No library begins a thread before the sandbox, or reserves a gibibyte of addresses.
_ENVIRONMENT: Final = {
    "PATH": os.defpath,
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "OPENBLAS_NUM_THREADS": "1",
}
_HEAD_BYTES: Final = 64 << 10


class QueryRefused(InvalidRequest):
    """The statement is not allowed, or it has an error; the message is one sentence."""


class QueryStopped(InvalidRequest):
    """The statement reached a limit; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """What a statement gave, in its form. `truncated`: there were more rows than may be given."""

    body: bytes
    rows: int
    truncated: bool


class Queries:
    """Queries of one database file, or of the file that a link leads to when they begin."""

    def __init__(self, database: Path, seconds: float = SECONDS, *, offered: bool = True) -> None:
        self.offered = offered
        self._database = database
        self._seconds = seconds
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0
        self._of_clients: Counter[str] = Counter()
        self._running: set[asyncio.subprocess.Process] = set()

    async def run(self, statement: str, form: SqlForm, client: str) -> QueryAnswer:
        """Run a statement. Raises QueryRefused, QueryStopped, RateLimited, NotFound, IndexNotReady.

        `client`: who sent it; each has at most OF_ONE_CLIENT that run or wait.
        """
        self.check_offered()
        if not self._database.exists():
            raise IndexNotReady("No export has been made yet.")
        if len(statement) > MOST_CHARACTERS:
            raise QueryRefused(f"A statement has at most {MOST_CHARACTERS:,} characters.")
        try:
            text = statement.encode()
        except UnicodeEncodeError:
            raise QueryRefused("A statement is text in Unicode.") from None
        if "\0" in statement:  # DuckDB reads no further
            raise QueryRefused("A statement has no NUL character.")
        if self._waiting >= WAITING:
            raise RateLimited("Too many queries are waiting; try again later.")
        if self._of_clients[client] >= OF_ONE_CLIENT:
            raise RateLimited("Your other statements are still running; wait for them.")
        self._waiting += 1
        self._of_clients[client] += 1
        try:
            async with self._turns:
                return await self._run(text, form)
        finally:
            self._waiting -= 1
            self._of_clients -= Counter((client,))

    def check_offered(self) -> None:
        """Raises NotFound when the operator does not offer SQL."""
        if not self.offered:
            raise NotFound("This service does not offer SQL.")

    async def close(self) -> None:
        """End the queries that run."""
        for process in tuple(self._running):
            await _end(process)

    async def _run(self, statement: bytes, form: SqlForm) -> QueryAnswer:
        process = await asyncio.create_subprocess_exec(
            *_PROGRAM,
            str(self._database.resolve()),
            form,
            env=_ENVIRONMENT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_HEAD_BYTES,
        )
        self._running.add(process)
        try:
            async with asyncio.timeout(self._seconds):
                return await _exchange(process, statement)
        except TimeoutError:
            raise QueryStopped(f"The query took longer than {self._seconds:g} seconds.") from None
        finally:
            await _end(process)
            self._running.discard(process)


async def _exchange(process: asyncio.subprocess.Process, statement: bytes) -> QueryAnswer:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):
        process.stdin.write(statement)
        await process.stdin.drain()
        process.stdin.close()
    body = bytearray()
    while piece := await process.stdout.read(_HEAD_BYTES):
        body += piece
        if len(body) > MOST_BYTES + _HEAD_BYTES:
            raise QueryStopped("The answer is too large; select less.")
    await process.wait()
    head, _, rest = bytes(body).partition(b"\n")
    try:
        told = orjson.loads(head)
    except orjson.JSONDecodeError:
        raise QueryStopped(
            "The query cannot be run, or takes more memory or time than it may have."
        ) from None
    if "error" in told:
        raise QueryRefused(str(told["error"]))
    return QueryAnswer(rest, int(told["rows"]), bool(told["truncated"]))


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await asyncio.shield(process.wait())
