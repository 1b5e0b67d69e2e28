"""The process that refreshes a worker's grants, and the worker's end of the socket to it.

It outlives its worker: when that dies, however it dies, the socket closes; the process finishes the running
refreshes, commits them and ends. `refresh.py` says why. One line of JSON each way for each refresh.
"""

import asyncio
import itertools
import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson
import structlog

from readapi.oauth.errors import Unavailable
from readapi.pds.grants import Ended, Renewing
from readapi.state.sign_in.grants import GrantId

log = structlog.get_logger()

TRIES = 2  # a process that died is replaced once for each request
CLOSE_SECONDS = 2.0
_LINE_BYTES = 1 << 20


class RefreshProcess:
    """Refreshes grants through a separate process, started when it is first needed."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self._line: _Line | None = None
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The id of the process, once started."""
        return None if self._line is None else self._line.process.pid

    async def renew(self, grant_id: GrantId, refused: str | None) -> None:
        """See `Renewing`."""
        for _ in range(TRIES):
            line = await self._connected()
            answer = await line.ask(grant_id, refused)
            if answer is not None:
                return _raise_outcome(answer)
        raise Unavailable("The service could not renew your authorization at the moment.")

    async def close(self) -> None:
        """Close the socket; the process finishes running refreshes by itself."""
        if self._line is not None:
            await self._line.close()

    async def _connected(self) -> "_Line":
        async with self._starting:
            if self._line is None or self._line.listening.done():
                if self._line is not None:
                    await self._line.close()
                self._line = await _Line.start(self._command)
            return self._line


@dataclass(slots=True)
class _Line:
    """The socket to one process, with the requests that it has not answered yet."""

    process: subprocess.Popen[bytes]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    open: dict[int, asyncio.Future[dict[str, str] | None]] = field(default_factory=dict)
    listening: asyncio.Task[None] = field(init=False)

    @classmethod
    async def start(cls, command: Sequence[str]) -> "_Line":
        ours, theirs = socket.socketpair()
        with theirs:
            # asyncio's own subprocesses are killed with their loop; this one must not be. A session of its
            # own keeps it from what is done to our process group.
            process = subprocess.Popen(  # noqa: S603, ASYNC220  # our own program; starting takes a millisecond
                command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, start_new_session=True
            )
        line = cls(process, *await asyncio.open_connection(sock=ours, limit=_LINE_BYTES))
        line.listening = asyncio.create_task(line._listen())
        return line

    async def ask(self, grant_id: GrantId, refused: str | None) -> dict[str, str] | None:
        """Send one request and return the answer; None when the process died before."""
        if self.listening.done():
            return None
        number = next(self.numbers)
        self.open[number] = asyncio.get_running_loop().create_future()
        question = {"number": number, "grant": grant_id, "refused": refused}
        self.writer.write(orjson.dumps(question) + b"\n")
        try:
            return await self.open[number]
        finally:
            del self.open[number]

    async def close(self) -> None:
        self.writer.close()
        try:
            await asyncio.to_thread(self.process.wait, CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            log.info("keeper still at work", pid=self.process.pid)
        await self.listening

    async def _listen(self) -> None:
        try:
            async for line in self.reader:
                answer = orjson.loads(line)
                if answer["number"] in self.open:
                    self.open[answer["number"]].set_result(answer)
        except OSError:
            pass
        for waiting in self.open.values():
            if not waiting.done():
                waiting.set_result(None)


def _raise_outcome(answer: dict[str, str]) -> None:
    match answer["outcome"]:
        case "fresh":
            return
        case "ended":
            raise Ended(answer["sentence"])
        case _:
            raise Unavailable(answer["sentence"])


async def run_refresh_process(renewing: Renewing) -> None:
    """The process's main function: serve the worker on standard input until it closes, then finish."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # the worker gets the signal too, and then closes the socket
    line = socket.socket(fileno=os.dup(0))
    reader, writer = await asyncio.open_connection(sock=line, limit=_LINE_BYTES)
    under_way: set[asyncio.Task[None]] = set()
    try:
        async for question in reader:
            task = asyncio.create_task(_answer(renewing, orjson.loads(question), writer))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
    except ConnectionError:
        pass  # the worker died with answers unread
    await asyncio.gather(*under_way)
    writer.close()


async def _answer(renewing: Renewing, question: dict[str, str], writer: asyncio.StreamWriter) -> None:
    outcome, sentence = "fresh", ""
    try:
        await renewing.renew(GrantId(question["grant"]), question["refused"])
    except Ended as ended:
        outcome, sentence = "ended", str(ended)
    except Unavailable as unavailable:
        outcome, sentence = "unavailable", unavailable.sentence
    except Exception:
        log.exception("renewal failed", grant=question["grant"])
        outcome, sentence = "failed", "The service could not renew your authorization at the moment."
    writer.write(
        orjson.dumps({"number": question["number"], "outcome": outcome, "sentence": sentence}) + b"\n"
    )
