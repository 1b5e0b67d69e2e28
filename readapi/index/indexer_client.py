"""The API's client of the indexer's control socket: nudges after writes, record proofs, health."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import aiohttp
import orjson
import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

from readapi.errors import NotFound, PdsDown
from readapi.index.lookups import Index
from schemas.ids import AtUri, Tid

_STATUS_TIMEOUT = aiohttp.ClientTimeout(total=2.0)


_PROOF_TIMEOUT = aiohttp.ClientTimeout(total=15.0)


_NO_RECORD = 204


log = structlog.get_logger()

PATIENCE_SECONDS = 2.0
_TIMEOUT = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)


class IndexerNudges:
    """A nudge carries no data: the indexer fetches the record and its proof from the author's server."""

    def __init__(self, data_dir: Path, index: Index) -> None:
        self._socket = data_dir / "control.sock"
        self._index = index

    async def shown(self, uris: Iterable[AtUri]) -> bool:
        """Wait until these records are shown as they are now; False: not within PATIENCE_SECONDS.

        Then the indexer learns of them from the stream.
        """
        try:
            async with (
                asyncio.timeout(PATIENCE_SECONDS),
                aiohttp.ClientSession(
                    connector=aiohttp.UnixConnector(str(self._socket)),
                    timeout=_TIMEOUT,
                    raise_for_status=True,
                ) as session,
            ):
                op = max(await asyncio.gather(*(_nudge(session, uri) for uri in uris)), default=0)
                await self._index.reached(op)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, LookupError) as error:
            log.info("written, but not shown yet", reason=str(error)[:200] or type(error).__name__)
            return False
        return True


async def _nudge(session: aiohttp.ClientSession, uri: AtUri) -> int:
    """The outbox entry that makes the record visible; 0 when there never was such a record."""
    asked = orjson.dumps({"did": uri.did, "uri": str(uri)})
    async with session.post("http://indexer/nudge", data=asked) as response:
        if response.status == NotFound.status:
            return 0
        response.raise_for_status()
        return int(orjson.loads(await response.read())["op"])


class Signed(NamedTuple):
    """A record as DAG-CBOR in a commit that the account signed. `record`: None when the repo has none."""

    rev: Tid
    record: bytes | None


class Proofs:
    """Fetches record proofs through the indexer, so that one process alone connects to untrusted servers."""

    def __init__(self, data_dir: Path) -> None:
        self._socket = data_dir / "control.sock"

    async def fetch(self, uri: str) -> bytes:
        """The CAR that proves a record. Raises NotFound or PdsDown."""
        async with self._asked("proof", AtUri.parse(uri)) as response:
            if response.status == NotFound.status:
                raise NotFound("The artist's own server has no such record any more.")
            if response.status != 200:
                raise PdsDown
            return await response.read()

    async def record(self, uri: AtUri) -> Signed:
        """The record as the account signed it; only a verified signature counts. Raises PdsDown."""
        async with self._asked("record", uri) as response:
            if response.status not in (200, _NO_RECORD):
                raise PdsDown
            rev = Tid(response.headers["Atproto-Repo-Rev"])
            return Signed(rev, None if response.status == _NO_RECORD else await response.read())

    @asynccontextmanager
    async def _asked(self, what: str, uri: AtUri) -> AsyncIterator[aiohttp.ClientResponse]:
        asked = orjson.dumps({"did": uri.did, "uri": str(uri)})
        connector = aiohttp.UnixConnector(str(self._socket))
        try:
            async with (
                aiohttp.ClientSession(connector=connector, timeout=_PROOF_TIMEOUT) as session,
                session.post(f"http://indexer/{what}", data=asked) as response,
            ):
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise PdsDown from error


class Source(BaseModel):
    """The stream that the indexer follows."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    connected: bool
    error: str | None = None
    retry_in: float | None = None


class Report(BaseModel):
    """The indexer's answer, as far as the API needs it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: Source | None = None
    lag_seconds: float | None = None
    clock_offset_seconds: float | None = None
    warnings: list[str] = []


@dataclass(frozen=True, slots=True)
class _Heard:
    report: Report
    at: float


class IndexerStatus:
    """The indexer's last health report, and whether it still answers."""

    def __init__(self, data_dir: Path) -> None:
        self._socket = data_dir / "control.sock"
        self._heard: _Heard | None = None
        self._lag_text: str | None = None
        self.reachable = False

    @property
    def source(self) -> Source | None:
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
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, ValidationError) as error:
            if self.reachable:
                log.warning("indexer unreachable", error=str(error)[:200] or type(error).__name__)
            self.reachable = False
        else:
            self.reachable = True
            self._heard = _Heard(report, time.monotonic())
        lag = self.lag_seconds
        self._lag_text = None if lag is None else f"{lag:.3f}"

    async def _fetch(self) -> Report:
        connector = aiohttp.UnixConnector(str(self._socket))
        async with (
            aiohttp.ClientSession(connector=connector, timeout=_STATUS_TIMEOUT) as session,
            session.get("http://indexer/health") as response,
        ):
            return Report.model_validate(orjson.loads(await response.read()))
