"""The process that fetches and verifies repos for the indexer; `fetch_process.py` starts it.

It reads jobs from its standard input and writes results to its standard output, each as a length and a
pickle. It ends when the input does: no kill of the indexer leaves it behind.
"""

import asyncio
import contextlib
import os
import pickle
import resource
import signal
import struct
import sys
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from indexer import faults
from indexer.network.connect import DOWNLOADS
from indexer.network.http.client import Outbound, OutboundError
from indexer.network.identity.dns import Dns
from indexer.network.xrpc import RepoGone
from indexer.repo import signing_keys
from indexer.repo.extract import Fetched
from indexer.sync.fetch import fetch_repo
from indexer.sync.spool import Spools
from schemas import heap
from schemas.ids import Did, Nsid

MEMORY_BYTES: Final = 1 << 30  # of data; beyond that, the process ends
_LARGE: Final = 1 << 18  # bytes of a message that is packed or unpacked beside the event loop
_EXPECTED: Final = (OutboundError, RepoGone, ValueError)
_LENGTH: Final = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Task:
    """What stays the same for all jobs: the collections, the folder of spools, and whom it may ask."""

    collections: frozenset[Nsid]
    scratch: Path
    allow_loopback: bool


class Job(NamedTuple):
    """One repo to fetch; `key` is the account's signing key as a Multikey."""

    number: int
    pds: str
    did: Did
    key: str


class Heard(NamedTuple):
    """The `Date` header that a host has sent just now."""

    host: str | None
    date: str | None


class Failure(NamedTuple):
    """An exception: pickle would call its class with the message alone."""

    kind: type[BaseException]
    args: tuple[Any, ...]
    fields: dict[str, Any]

    @classmethod
    def of(cls, error: BaseException) -> "Failure":
        return cls(type(error), error.args, error.__dict__)

    def error(self) -> BaseException:
        """The exception, with its attributes."""
        error = self.kind.__new__(self.kind, *self.args)
        error.__dict__.update(self.fields)
        return error


class Done(NamedTuple):
    """The result of a job."""

    number: int
    result: Fetched | Failure


async def read_message(reader: asyncio.StreamReader) -> Any:
    """Read one message. Raises asyncio.IncompleteReadError at the end."""
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    packed = await reader.readexactly(length)
    if length < _LARGE:
        return pickle.loads(packed)  # noqa: S301 - from our own process
    return await asyncio.to_thread(pickle.loads, packed)


def write_message(writer: asyncio.StreamWriter, message: object) -> None:
    """Write one message, to be sent when there is room for it."""
    _write(writer, pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def _write(writer: asyncio.StreamWriter, packed: bytes) -> None:
    writer.write(_LENGTH.pack(len(packed)) + packed)


async def result_of(fetching: Awaitable[Fetched]) -> Fetched | Failure:
    """What came of a fetch, as a value. Raises MemoryError."""
    try:
        return await fetching
    except _EXPECTED as error:
        return Failure.of(error)
    except BaseException as error:
        if isinstance(error, MemoryError) or not (isinstance(error, Exception) or faults.is_panic(error)):
            raise
        # Its class may be one that pickle does not find.
        return Failure.of(RuntimeError(faults.record_fault("fetch", error)))


async def work(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Fetch what is asked for, all of it at once, until the input ends."""
    task: Task = await read_message(reader)
    spools = Spools(task.scratch)
    async with Outbound(Dns(), allow_loopback=task.allow_loopback, limits=DOWNLOADS) as outbound:
        outbound.heard = lambda host, date: write_message(writer, Heard(host, date))

        async def fetch(job: Job) -> None:
            key, now = signing_keys.parse_key(job.key), datetime.now(UTC)
            fetching = fetch_repo(outbound, job.pds, job.did, key, task.collections, now, spools=spools)
            done = Done(job.number, await result_of(fetching))
            _write(writer, await asyncio.to_thread(pickle.dumps, done, pickle.HIGHEST_PROTOCOL))
            await writer.drain()

        async with asyncio.TaskGroup() as group:
            with contextlib.suppress(asyncio.IncompleteReadError):
                while True:
                    group.create_task(fetch(await read_message(reader)))
            os._exit(0)  # no process waits for what is being fetched


def run() -> None:
    """Work on what the standard input asks for, until it ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a terminal and systemd send them to all processes
        signal.signal(number, signal.SIG_IGN)
    output = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what is logged must not get between the messages
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    heap.bound_arenas()
    asyncio.run(_run(output))


async def _run(output: int) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(output, "wb")
    )
    await work(reader, asyncio.StreamWriter(transport, protocol, None, loop))
