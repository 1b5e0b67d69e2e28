"""What this worker counts of itself, as Prometheus reads it."""

import os
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """One registry per worker: workers share a port, so each scrape meets one of them."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "fmsvc_requests", "Answers sent.", ("route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "fmsvc_request_seconds",
            "Time from request to answer.",
            ("route",),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        # Looking children up by their labels costs as much as counting.
        self._counters: dict[tuple[str, int], Counter] = {}
        self._timers: dict[str, Histogram] = {}
        self.watch("fmsvc_requests_in_flight", "Requests being answered.", lambda: self.in_flight)
        self.watch("fmsvc_worker_pid", "Process id of the worker that answers this.", os.getpid)

    def watch(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Report a number that something else keeps."""
        Gauge(name, description, registry=self._registry).set_function(value)

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count one answer. `route` is a pattern, never an address: labels must stay few."""
        counter = self._counters.get((route, status))
        if counter is None:
            counter = self._counters[route, status] = self._requests.labels(route, str(status))
            self._timers[route] = self._seconds.labels(route)
        counter.inc()
        self._timers[route].observe(seconds)

    def text(self) -> bytes:
        """Everything counted so far."""
        return generate_latest(self._registry)
