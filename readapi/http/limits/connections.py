"""Limits on open connections: per client, per network, and in total.

Each costs file descriptors, and memory for its head, before its account is known.
"""

import resource
from collections import Counter

import structlog

from readapi.http.limits.clients import Clients, network_prefix, wider_network
from readapi.metrics import Metrics
from schemas.settings import Settings

log = structlog.get_logger()

OF_ONE_CLIENT = 256  # an address or a /64; a browser opens six, and many people may share one address
MOST = 10_000
FILES_OF_ONE = 3  # descriptors: the socket, the file that is being sent, and one to watch the socket with
FILES_BESIDE = 512  # the stores, connections to other servers, files being received
WANTED_FILES = FILES_BESIDE + 1_024 * FILES_OF_ONE

Seat = tuple[str, ...]  # the keys that a connection counts under: client and network; none for a proxy's


class ConnectionLimits:
    """Counts connections. A trusted proxy's carry many clients, so they count towards the total alone."""

    def __init__(self, settings: Settings, most: int, of_one_client: int = OF_ONE_CLIENT) -> None:
        self._clients = Clients(settings.trusted_proxies)
        self._most = most
        # One party may hold a whole /48 or /24, so each network gets a share of the total as well.
        self._of_one_network = max(1, most // 4)
        self._of_one_client = min(of_one_client, self._of_one_network)
        self._taken: Counter[str] = Counter()
        self.all = 0
        self.refused = 0

    def take(self, address: str) -> Seat | None:
        """Count a connection from this address; None when a limit is reached. Pass the result to `leave`."""
        seat = () if self._clients.is_trusted(address) else (network_prefix(address), wider_network(address))
        limits = (self._of_one_client, self._of_one_network)
        if self.all >= self._most or any(map(self._is_full, seat, limits)):
            self.refused += 1
            return None
        self.all += 1
        self._taken.update(seat)
        return seat

    def leave(self, seat: Seat) -> None:
        """Uncount a closed connection."""
        self.all -= 1
        for name in seat:
            self._taken[name] -= 1
            if not self._taken[name]:
                del self._taken[name]

    def _is_full(self, name: str, most: int) -> bool:
        return self._taken[name] >= most

    def watch(self, metrics: Metrics) -> None:
        """Register the counts as metrics."""
        metrics.watch("fmsvc_connections", "Connections of clients that are open.", lambda: self.all)
        metrics.tally(
            "fmsvc_connections_refused", "Connections refused: too many are open.", lambda: self.refused
        )


def raise_file_limit() -> int:
    """Raise the limit of open files as far as allowed; the number of connections that then fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    most = max(16, min(MOST, (hard - FILES_BESIDE) // FILES_OF_ONE))
    if hard < WANTED_FILES:
        log.warning(
            f"The system lets this process open {hard} files, so it takes {most} connections at a time; "
            f"allow it {WANTED_FILES} or more (ulimit -Hn, LimitNOFILE= of systemd).",
            files=hard,
            connections=most,
        )
    return most
