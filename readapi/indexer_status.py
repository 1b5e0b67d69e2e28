"""What the indexer says of itself: over its control socket."""

import time
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import orjson
import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

log = structlog.get_logger()

_TIMEOUT = aiohttp.ClientTimeout(total=2.0)


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
    """The last report, and whether the indexer still answers."""

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
        """What an operator should see to, though answers are fresh."""
        return self._heard.report.warnings if self._heard is not None and self.reachable else []

    @property
    def lag_seconds(self) -> float | None:
        """How far answers are behind the network. While the indexer is silent, it grows with the clock."""
        if self._heard is None or self._heard.report.lag_seconds is None:
            return None
        return self._heard.report.lag_seconds + (0 if self.reachable else time.monotonic() - self._heard.at)

    @property
    def clock_offset_seconds(self) -> float | None:
        """How far other hosts' clocks are ahead of the indexer's; None while it cannot be told."""
        return self._heard.report.clock_offset_seconds if self._heard is not None and self.reachable else None

    def lag_text(self) -> str | None:
        """The lag as a header says it; worked out once per report, not per request."""
        return self._lag_text

    async def refresh(self) -> None:
        """Ask once."""
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
            aiohttp.ClientSession(connector=connector, timeout=_TIMEOUT) as session,
            session.get("http://indexer/health") as response,
        ):
            return Report.model_validate(orjson.loads(await response.read()))
