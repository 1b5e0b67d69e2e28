"""How many connections may be open at once: of one client, of one network, and in all.

Each costs a file, and memory for its head and what it waits for, before anything is known of who it is.
"""

import resource
from collections import Counter

import structlog

from readapi.clients import Clients, household, network
from readapi.metrics import Metrics
from schemas.settings import Settings

log = structlog.get_logger()

OF_ONE_CLIENT = 256  # an address or a /64; browsers open six, and some households are large
MOST = 10_000
FILES_OF_ONE = 3  # a connection, the file that it is sent, and the number by which its socket is watched
FILES_BESIDE = 512  # the stores, other people's servers, what is being received
WANTED_FILES = FILES_BESIDE + 1_024 * FILES_OF_ONE

Seat = tuple[str, ...]  # what a connection counts for: its client and its network; nothing of a proxy's


class Seats:
    """Counts connections. Those of a trusted proxy are of many clients, and count towards the total alone."""

    def __init__(self, settings: Settings, most: int, of_one_client: int = OF_ONE_CLIENT) -> None:
        self._clients = Clients(settings.trusted_proxies)
        self._most = most
        # Whoever is given a /48 or a /24 has many addresses, so a network gets a part of the total as well.
        self._of_one_network = max(1, most // 4)
        self._of_one_client = min(of_one_client, self._of_one_network)
        self._taken: Counter[str] = Counter()
        self.all = 0
        self.refused = 0

    def take(self, address: str) -> Seat | None:
        """A seat for a connection from this address, to be left again; None: there is none."""
        seat = () if self._clients.is_trusted(address) else (household(address), network(address))
        limits = (self._of_one_client, self._of_one_network)
        if self.all >= self._most or any(map(self._is_full, seat, limits)):
            self.refused += 1
            return None
        self.all += 1
        self._taken.update(seat)
        return seat

    def leave(self, seat: Seat) -> None:
        """The connection is closed."""
        self.all -= 1
        for name in seat:
            self._taken[name] -= 1
            if not self._taken[name]:
                del self._taken[name]

    def _is_full(self, name: str, most: int) -> bool:
        return self._taken[name] >= most

    def watch(self, metrics: Metrics) -> None:
        """Let it be seen from outside."""
        metrics.watch("fmsvc_connections", "Connections of clients that are open.", lambda: self.all)
        metrics.watch(
            "fmsvc_connections_refused", "Connections refused: too many are open.", lambda: self.refused
        )


def for_open_files() -> int:
    """The connections that this process can have, once it may open as many files as the system lets it."""
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
