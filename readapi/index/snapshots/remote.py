"""The newest snapshot as a worker has it: each query is asked once of the process that has it open."""

import asyncio
import os
import time
from datetime import datetime
from typing import Any, Final

import structlog

from readapi.errors import IndexNotReady
from readapi.index.snapshots import messages
from readapi.index.snapshots.interface import ABSENT, SnapshotAnswer, age_seconds
from readapi.index.snapshots.messages import FoundRows, Query
from readapi.index.snapshots.shared_answers import SharedAnswers
from readapi.metrics import Metrics
from schemas import control_socket, steps
from schemas.control_socket import Unanswered
from schemas.settings import Settings

log = structlog.get_logger()

ANSWER_SECONDS: Final = 60.0
STATE_SECONDS: Final = 10.0
AT_ONCE: Final = 16  # queries, each on a connection of its own; the process answers one after the other
ASK_SECONDS: Final = 5.0  # between two questions whether the process answers, while the link stays
UNREACHABLE: Final = "The process that reads the catalogue's snapshots does not answer; try again later."


class RemoteSnapshots:
    """Follows the snapshots, or files of counts, that a link in the data folder leads to.

    Answers are remembered until there is a newer snapshot.
    """

    def __init__(self, settings: Settings, link: str) -> None:
        self.version: str | None = None
        self.trouble: str | None = ABSENT
        self.as_of: datetime | None = None
        self._socket = messages.socket_of(settings.data_dir)
        self._link = link
        self._path = settings.data_dir / link
        # One of the snapshot before, or of the next, is not kept: the one that is shown may have it soon.
        self._answers = SharedAnswers(
            lambda query: asyncio.create_task(self._ask(query)),
            is_kept=lambda found: found.version == self.version,
        )
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._ask_again = 0.0  # by the monotonic clock

    @property
    def remembered(self) -> int:
        """The number of answers that are remembered or asked for."""
        return len(self._answers)

    async def rows(self, sql: str, **values: Any) -> SnapshotAnswer:
        """The rows of a query. Raises IndexNotReady when no snapshot answers it."""
        if self.version is None:
            raise IndexNotReady(self.trouble or ABSENT)
        found = await self._answers.find(Query(sql, values))
        return SnapshotAnswer(found.rows, found.as_of)

    async def refresh(self) -> bool:
        """Show a newer snapshot, if the process has one open. True when it has."""
        if self.trouble in (None, ABSENT) and self._is_newest() and time.monotonic() < self._ask_again:
            return False
        self._ask_again = time.monotonic() + ASK_SECONDS
        try:
            state = messages.decode_state(await self._request("GET", messages.STATE, STATE_SECONDS))
        except IndexNotReady as error:
            if self.trouble != error.message:
                log.warning("snapshots cannot be asked", link=self._link, reason=error.message)
            self.trouble = error.message
            return False
        self.trouble = state.trouble
        if state.version is None or state.version == self.version:
            return False
        self.version, self.as_of = state.version, state.as_of
        self._answers.clear()
        return True

    async def close(self) -> None:
        """Answer nothing more."""
        self.version = None
        await self._answers.cancel()

    def watch(self, metrics: Metrics) -> None:
        """Register the age as a metric."""
        age = "fmsvc_snapshot_age_seconds"
        metrics.watch(age, "Age of the snapshot.", lambda: age_seconds(self.as_of) or 0.0)

    def _is_newest(self) -> bool:
        """Is the snapshot that the link leads to the one that is shown? True while there is no link."""
        try:
            return os.readlink(self._path) == self.version
        except OSError:
            return True

    async def _ask(self, query: Query) -> FoundRows:
        body = messages.encode_query(query)
        async with self._turns:
            return messages.decode_rows(await self._request("POST", messages.ROWS, ANSWER_SECONDS, body))

    async def _request(self, method: str, path: str, seconds: float, body: bytes | None = None) -> bytes:
        """The process's answer. Raises IndexNotReady with its refusal, or without an answer in time."""
        try:
            answer = await control_socket.ask(
                self._socket,
                method,
                path,
                seconds=seconds,
                most_bytes=messages.MOST_BYTES,
                accepted=(200, IndexNotReady.status),
                query={messages.LINK: self._link, messages.TABLES: str(steps.VERSION)},
                body=body,
            )
        except Unanswered as error:
            raise IndexNotReady(UNREACHABLE) from error
        if answer.status == IndexNotReady.status:
            raise IndexNotReady(answer.body.decode())
        return answer.body
