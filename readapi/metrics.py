"""One process's metrics in Prometheus's format."""

import os
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Gauge, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Requests(Collector):
    """Answers by route and status, and how long they took.

    Plain numbers until a scrape: one thread counts here, so the client library's locks are not needed.
    """

    def __init__(self) -> None:
        self._answers: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count one answer. `route` is a pattern, never an address: labels must stay few."""
        self._answers[route, status] += 1
        buckets = self._buckets.get(route)
        if buckets is None:
            buckets = self._buckets[route] = [0] * (len(BUCKETS) + 1)
        buckets[bisect_left(BUCKETS, seconds)] += 1
        self._seconds[route] += seconds

    def collect(self) -> Iterator[Metric]:
        """What Prometheus asks for."""
        answers = CounterMetricFamily("fmsvc_requests", "Answers sent.", labels=("route", "status"))
        for (route, status), number in self._answers.items():
            answers.add_metric((route, str(status)), number)
        yield answers
        times = HistogramMetricFamily("fmsvc_request_seconds", "Request to answer.", labels=("route",))
        for route, buckets in self._buckets.items():
            times.add_metric((route,), _cumulative(buckets), self._seconds[route])
        yield times


class _Tally(Collector):
    """One number that only grows."""

    def __init__(self, name: str, description: str, value: Callable[[], float]) -> None:
        self._name, self._description, self._value = name, description, value

    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily(self._name, self._description, value=self._value())


class ProcessMetrics:
    """The registry of one process. `http/process_metrics.py` merges those of all processes for a scrape."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()

    def watch(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Register a gauge, read from `value`."""
        Gauge(name, description, registry=self._registry).set_function(value)

    def tally(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Register a counter, read from `value`."""
        self._registry.register(_Tally(name, description, value))

    def text(self) -> bytes:
        """All metrics as text."""
        return generate_latest(self._registry)


def _cumulative(buckets: list[int]) -> list[tuple[str, float]]:
    total, rows = 0, []
    for bound, number in zip((*BUCKETS, float("inf")), buckets, strict=True):
        total += number
        rows.append(("+Inf" if bound == float("inf") else str(bound), float(total)))
    return rows


class Metrics(ProcessMetrics):
    """The registry of one worker."""

    def __init__(self) -> None:
        super().__init__()
        self.in_flight = 0
        self.requests = Requests()
        self._registry.register(self.requests)
        self.watch("fmsvc_requests_in_flight", "Requests being answered.", lambda: self.in_flight)
        self.watch("fmsvc_worker_pid", "Process id of the API worker.", os.getpid)
