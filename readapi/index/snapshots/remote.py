"""The newest snapshot as a worker has it: each query is asked once of the process that has it open."""

import asyncio
import os
from collections.abc import Collection
from datetime import datetime
from typing import Any, Final

import structlog

from readapi.errors import IndexNotReady
from readapi.index.snapshots import messages
from readapi.index.snapshots.interface import ABSENT, UNANSWERED, SnapshotAnswer, age_seconds
from readapi.index.snapshots.messages import FoundRows, Query
from readapi.metrics import Metrics
from schemas import control_socket
from schemas.control_socket import ControlAnswer, Unanswered
from schemas.settings import Settings

log = structlog.get_logger()

ANSWER_SECONDS: Final = 60.0
STATE_SECONDS: Final = 10.0
MOST_BYTES: Final = 32 << 20  # of an answer
AT_ONCE: Final = 16  # queries, each on a connection of its own; the process answers one after the other
MOST_ANSWERS: Final = 512  # remembered until the next snapshot
UNREACHABLE: Final = "The process that reads the catalogue's snapshots does not answer; try again later."


class RemoteSnapshots:
    """Follows the snapshots, or files of counts, that a link in the data folder leads to.

    Answers are remembered until there is a newer snapshot, and clients that wait for the same one share it.
    """

    def __init__(self, settings: Settings, link: str) -> None:
        self.version: str | None = None
        self.as_of: datetime | None = None
        self._socket = messages.socket_of(settings.data_dir)
        self._link = link
        self._path = settings.data_dir / link
        self.absence = ABSENT
        self._answers: dict[object, asyncio.Task[FoundRows]] = {}
        self._asking: set[asyncio.Task[FoundRows]] = set()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._is_reached = True

    @property
    def remembered(self) -> int:
        """The number of answers that are remembered or asked for."""
        return len(self._answers)

    async def rows(self, sql: str, **values: Any) -> SnapshotAnswer:
        """The rows of a query. Raises IndexNotReady when no snapshot answers it."""
        if self.version is None:
            raise IndexNotReady(self.absence)
        key = (sql, *values.values())
        asking = self._answers.get(key)
        if asking is None:
            if len(self._answers) >= MOST_ANSWERS:
                self._answers.clear()
            asking = self._answers[key] = asyncio.create_task(self._ask(Query(sql, values)))
            self._asking.add(asking)
            asking.add_done_callback(lambda done: self._settle(key, done))
        # Shielded: others may wait for the same rows when one client hangs up.
        answer = await asyncio.shield(asking)
        return SnapshotAnswer(answer.rows, answer.as_of)

    async def refresh(self) -> bool:
        """Switch to a newer snapshot, if there is one. True when there was."""
        try:
            if os.readlink(self._path) == self.version:
                return False
        except OSError:
            return False
        try:
            answer = await self._post(messages.REFRESH, STATE_SECONDS)
        except Unanswered:
            self.absence = UNREACHABLE
            return False
        state = messages.decode_state(answer.body)
        self.absence = state.absence
        if state.version is None or state.version == self.version:
            return False
        self.version, self.as_of = state.version, state.as_of
        self._answers.clear()
        return True

    async def close(self) -> None:
        """Answer nothing more."""
        self.version = None
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    def watch(self, metrics: Metrics) -> None:
        """Register the age as a metric."""
        age = "fmsvc_snapshot_age_seconds"
        metrics.watch(age, "Age of the snapshot.", lambda: age_seconds(self.as_of) or 0.0)

    async def _ask(self, query: Query) -> FoundRows:
        try:
            body, accepted = messages.encode_query(query), (200, IndexNotReady.status)
            async with self._turns:
                answer = await self._post(messages.ROWS, ANSWER_SECONDS, body, accepted)
        except Unanswered as error:
            raise IndexNotReady(UNANSWERED) from error
        if answer.status == IndexNotReady.status:
            raise IndexNotReady(answer.body.decode())
        return messages.decode_rows(answer.body)

    async def _post(
        self, path: str, seconds: float, body: bytes | None = None, accepted: Collection[int] = (200,)
    ) -> ControlAnswer:
        """One request to the process. Raises Unanswered, which is logged when the one before was answered."""
        try:
            answer = await control_socket.ask(
                self._socket,
                "POST",
                path,
                seconds=seconds,
                most_bytes=MOST_BYTES,
                accepted=accepted,
                query={"link": self._link},
                body=body,
            )
        except Unanswered as error:
            if self._is_reached:
                log.warning("snapshots cannot be asked", link=self._link, reason=str(error)[:200])
            self._is_reached = False
            raise
        self._is_reached = True
        return answer

    def _settle(self, key: object, done: asyncio.Task[FoundRows]) -> None:
        """Forget what failed, or came of another snapshot than the one that is shown."""
        self._asking.discard(done)
        failed = done.cancelled() or done.exception() is not None
        if self._answers.get(key) is done and (failed or done.result().version != self.version):
            del self._answers[key]
