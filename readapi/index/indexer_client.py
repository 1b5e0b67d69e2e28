"""What the API asks of the indexer: to show records that were just written, record proofs, and its health."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import orjson
import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

from readapi.errors import NotFound, PdsDown
from readapi.index.lookups import Index
from schemas import control_socket, data_folder
from schemas.control_socket import ControlAnswer, Unanswered
from schemas.ids import AtUri, Tid

STATUS_SECONDS: Final = 2.0
PROOF_SECONDS: Final = 15.0
PROOF_BYTES: Final = 4 << 20  # twice what the indexer takes from an account's server
_NO_RECORD: Final = 204

log = structlog.get_logger()


class IndexerNudges:
    """A nudge carries no data: the indexer fetches the record and its proof from the author's server."""

    def __init__(self, data_dir: Path, index: Index, shown_seconds: float) -> None:
        self._socket = data_dir / data_folder.CONTROL_SOCKET
        self._index = index
        self._seconds = shown_seconds

    async def shown(self, uris: Iterable[AtUri]) -> bool:
        """Wait until these records are shown as they are now; False: not within `shown_seconds`.

        Then the indexer learns of them from the stream.
        """
        try:
            async with asyncio.timeout(self._seconds):
                op = max(await asyncio.gather(*map(self._nudge, uris)), default=0)
                await self._index.reached(op)
        except (Unanswered, TimeoutError, ValueError, LookupError) as error:
            log.info("written, but not shown yet", reason=str(error)[:200] or type(error).__name__)
            return False
        return True

    async def _nudge(self, uri: AtUri) -> int:
        """The outbox entry that makes the record visible."""
        body = control_socket.encode_uri(uri)
        answer = await control_socket.ask(
            self._socket, "POST", control_socket.NUDGE, seconds=self._seconds, body=body
        )
        return int(orjson.loads(answer.body)["op"])


class Signed(NamedTuple):
    """A record as DAG-CBOR in a commit that the account signed. `record`: None when the repo has none."""

    rev: Tid
    record: bytes | None


class Proofs:
    """Fetches record proofs through the indexer, so that one process alone connects to untrusted servers."""

    def __init__(self, data_dir: Path) -> None:
        self._socket = data_dir / data_folder.CONTROL_SOCKET

    async def fetch(self, uri: str) -> bytes:
        """The CAR that proves a record. Raises NotFound or PdsDown."""
        answer = await self._ask(control_socket.PROOF, AtUri.parse(uri), (200, NotFound.status))
        if answer.status == NotFound.status:
            raise NotFound("The artist's server no longer has this record.")
        return answer.body

    async def record(self, uri: AtUri) -> Signed:
        """The record as the account signed it; only a verified signature counts. Raises PdsDown."""
        answer = await self._ask(control_socket.RECORD, uri, (200, _NO_RECORD))
        rev = Tid(answer.headers[control_socket.REV_HEADER])
        return Signed(rev, None if answer.status == _NO_RECORD else answer.body)

    async def _ask(self, path: str, uri: AtUri, accepted: tuple[int, ...]) -> ControlAnswer:
        try:
            return await control_socket.ask(
                self._socket,
                "POST",
                path,
                seconds=PROOF_SECONDS,
                most_bytes=PROOF_BYTES,
                accepted=accepted,
                body=control_socket.encode_uri(uri),
            )
        except Unanswered as error:
            raise PdsDown from error


class StreamState(BaseModel):
    """The stream that the indexer follows."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    connected: bool
    error: str | None = None
    retry_in: float | None = None


class IndexerReport(BaseModel):
    """The indexer's answer, as far as the API needs it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: StreamState | None = None
    lag_seconds: float | None = None
    clock_offset_seconds: float | None = None
    warnings: list[str] = []


@dataclass(frozen=True, slots=True)
class _Heard:
    report: IndexerReport
    at: float


class IndexerStatus:
    """The indexer's last health report, and whether it still answers."""

    def __init__(self, data_dir: Path) -> None:
        self._socket = data_dir / data_folder.CONTROL_SOCKET
        self._heard: _Heard | None = None
        self._lag_text: str | None = None
        self.reachable = False

    @property
    def source(self) -> StreamState | None:
        """The stream's state; None when the indexer does not answer."""
        return self._heard.report.source if self._heard is not None and self.reachable else None

    @property
    def warnings(self) -> list[str]:
        """Warnings for the operator that do not affect freshness."""
        return self._heard.report.warnings if self._heard is not None and self.reachable else []

    @property
    def lag_seconds(self) -> float | None:
        """How far answers are behind the network. While the indexer is silent, it grows with the clock."""
        if self._heard is None or self._heard.report.lag_seconds is None:
            return None
        return self._heard.report.lag_seconds + (0 if self.reachable else time.monotonic() - self._heard.at)

    @property
    def clock_offset_seconds(self) -> float | None:
        """How far other hosts' clocks are ahead of the indexer's; None while unknown."""
        return self._heard.report.clock_offset_seconds if self._heard is not None and self.reachable else None

    def lag_text(self) -> str | None:
        """The lag as a header value; formatted once per report, not per request."""
        return self._lag_text

    async def refresh(self) -> None:
        """Fetch a report."""
        try:
            report = await self._fetch()
        except (Unanswered, ValueError, ValidationError) as error:
            if self.reachable:
                log.warning("indexer unreachable", error=str(error)[:200])
            self.reachable = False
        else:
            self.reachable = True
            self._heard = _Heard(report, time.monotonic())
        lag = self.lag_seconds
        self._lag_text = None if lag is None else f"{lag:.3f}"

    async def _fetch(self) -> IndexerReport:
        answer = await control_socket.ask(self._socket, "GET", control_socket.HEALTH, seconds=STATUS_SECONDS)
        return IndexerReport.model_validate(orjson.loads(answer.body))
