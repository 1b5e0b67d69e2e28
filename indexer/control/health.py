"""The indexer's health as a JSON report, and as Prometheus metrics."""

import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from indexer.network.clock import ClockOffset
from indexer.pipeline import Pipeline
from indexer.search.follower import Follower
from indexer.stores import Stores
from indexer.stream import Source
from indexer.sync.states import Repos


class Health:
    """Reads its values from the indexer's parts, and has no state of its own but who else has warnings."""

    def __init__(
        self,
        source: Source,
        pipeline: Pipeline,
        follower: Follower,
        stores: Stores,
        repos: Repos,
        clock: ClockOffset,
    ) -> None:
        self._source = source
        self._pipeline = pipeline
        self._follower = follower
        self._stores = stores
        self._repos = repos
        self._clock = clock
        self._warnings: list[Callable[[], list[str]]] = [lambda: stores.snapshots.failures]

    def warn(self, warnings: Callable[[], list[str]]) -> None:
        """Report these warnings too, sentences for the operator."""
        self._warnings.append(warnings)

    def report(self) -> dict[str, Any]:
        """The answer of GET /health."""
        status, published_at = self._source.status, self._stores.snapshots.published_at
        event_time = self._pipeline.event_time
        return {
            "source": {
                "name": self._source.name,
                "connected": status.connected,
                "error": status.error,
                "retry_in": status.retry_in,
                "reconnects": dict(status.reconnects),
            },
            "cursor": self._pipeline.finished,
            "event_time": event_time.isoformat() if event_time else None,
            "lag_seconds": self._pipeline.lag.seconds(),
            "watermark": self._follower.watermark,
            "op": self._stores.writer.op,
            "snapshot_at": datetime.fromtimestamp(published_at, UTC).isoformat() if published_at else None,
            "snapshot_age_seconds": time.time() - published_at if published_at else None,
            "clock_offset_seconds": self._clock.seconds,
            "warnings": [sentence for warnings in self._warnings for sentence in warnings()],
            "dead_letters": self._stores.writer.dead_letters,
            "accounts": len(self._stores.writer.tracked),
            "repos": dict(self._repos.by_state),
            "pid": os.getpid(),
        }

    async def metrics(self) -> bytes:
        """The answer of GET /metrics."""
        registry = CollectorRegistry()
        accounts, held = await self._stores.accounts_by_status(), await self._stores.duckdb_bytes()
        registry.register(_Parts(self, accounts, held))
        return generate_latest(REGISTRY) + generate_latest(registry)

    def families(self) -> Iterator[Metric]:
        """The report and the counts of frames as Prometheus metrics."""
        report, status = self.report(), self._source.status
        for name, meaning in GAUGES.items():
            if report[name] is not None:
                yield GaugeMetricFamily(f"fmsvc_{name}", meaning, value=report[name])
        yield GaugeMetricFamily("fmsvc_source_connected", "1 while frames can come.", value=status.connected)
        cursor_age = time.monotonic() - self._pipeline.moved_at
        yield GaugeMetricFamily(
            "fmsvc_cursor_age_seconds", "Seconds since the cursor moved.", value=cursor_age
        )
        yield CounterMetricFamily("fmsvc_frame_bytes", "Bytes of frames received.", value=status.bytes)
        repos = GaugeMetricFamily("fmsvc_repos", "Repos by state.", labels=["state"])
        for state, count in self._repos.by_state.items():
            repos.add_metric([state], count)
        yield repos
        yield _counts("fmsvc_events", "Events by type.", "type", self._pipeline.events, self._source.name)
        yield _counts(
            "fmsvc_reconnects", "Connections lost, by why.", "code", status.reconnects, self._source.name
        )


GAUGES = {
    "cursor": "Sequence number up to which everything is committed.",
    "lag_seconds": "Seconds that the index is behind the network.",
    "watermark": "Outbox entry up to which the search index has come; -1 while it is made anew.",
    "op": "Newest outbox entry.",
    "snapshot_age_seconds": "Seconds since the newest snapshot was published.",
    "clock_offset_seconds": "Seconds that other hosts' clocks are ahead of ours, by their median.",
    "dead_letters": "Dead letters kept.",
}


class _Parts(Collector):
    def __init__(self, health: Health, accounts: dict[str, int], duckdb_bytes: int) -> None:
        self._health = health
        self._accounts = accounts
        self._duckdb_bytes = duckdb_bytes

    def collect(self) -> Iterator[Metric]:
        yield from self._health.families()
        accounts = GaugeMetricFamily("fmsvc_accounts", "Accounts by status.", labels=["status"])
        for status, count in self._accounts.items():
            accounts.add_metric([status], count)
        yield accounts
        yield GaugeMetricFamily(
            "fmsvc_duckdb_bytes", "Memory that DuckDB holds, of its limit.", value=self._duckdb_bytes
        )


def _counts(name: str, meaning: str, label: str, counts: dict[str, int], source: str) -> Metric:
    family = CounterMetricFamily(name, meaning, labels=["source", label])
    for value, count in counts.items():
        family.add_metric([source, value], count)
    return family
