"""The API under load: one worker beside the reference, in turns, on the same core."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from readapi.index.snapshots import messages
from schemas import control_socket
from tests.bench import machine
from tests.bench.load import Load, Loader
from tests.bench.rows import Row, rounded
from tests.bench.stores import BASE_URL, NOBODY_IS_REFUSED
from tests.network.server import free_port

CONNECTIONS: Final = 16  # where the ratios are taken
REFERENCE: Final = "aiohttp answering a fixed JSON body"
BY_CPU: Final = "the same by the servers' CPU time"
SAME_SIZE: Final = "aiohttp answering a fixed body of the same size, by the servers' CPU time"
UNCACHED: Final = "no response cache"
ZIPPED: Final = "Accept-Encoding: gzip"
HEAD_BYTES: Final = 800  # of our responses, which the load generator counts too

WITH_SESSION: Final = "GET /stats with a session"
WITHOUT_SESSION: Final = "the same with another cookie, by the server's CPU time"

Curves = dict[str, list[Load]]


@dataclass(frozen=True, slots=True)
class Server:
    """A process that answers."""

    url: str
    pid: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One run: what came back, and how much of it for each second of the server's CPU time."""

    load: Load
    per_cpu_second: float


class ApiBench:
    """A worker, a worker without response cache, and the reference, all started."""

    def __init__(self, loader: Loader, worker: Server, uncached: Server, reference: Server) -> None:
        self.worker = worker
        self._loader = loader
        self._uncached = uncached
        self._reference = reference
        self._fixed = loader.paths(["/"])
        self._reference_speeds: list[float] = []

    def rows(self, kinds: Mapping[str, list[str]], rounds: int) -> Iterator[Row]:
        """Throughput and p99 of every kind of question, beside the reference's."""
        for name, paths in kinds.items():
            file = self._loader.paths(paths)
            yield from self._compared(name, self.worker, file, rounds)
            yield from self._compared(f"{name}, {UNCACHED}", self._uncached, file, rounds)
        speed = median(self._reference_speeds)
        yield Row(f"{REFERENCE}, by its CPU time", rounded(speed), "requests per CPU second")

    def zipped(self, kinds: Mapping[str, list[str]], rounds: int) -> Iterator[Row]:
        """Lists as browsers ask for them, each compressed anew."""
        for name, paths in kinds.items():
            file = self._loader.paths(paths)
            yield from self._compared(f"{name}, {UNCACHED}, gzip", self._uncached, file, rounds, ZIPPED)

    def searches(self, classes: Mapping[str, list[str]], rounds: int) -> Iterator[Row]:
        """The same for each class of search, which a cache has nothing to do with."""
        for name, paths in classes.items():
            file = self._loader.paths(paths)
            yield from self._compared(search_row(name), self._uncached, file, rounds)

    def with_session(self, cookie: str, rounds: int) -> Iterator[Row]:
        """What it costs to know who asks: one cached read, with a session and with a cookie that is none.

        To receive a cookie of this length costs something too, whoever's it is.
        """
        file = self._loader.paths(["/stats"])
        known, other = f"Cookie: {cookie}", f"Cookie: other{cookie}"
        self._turn(self.worker, file, known)
        turns = [
            (self._turn(self.worker, file, other), self._turn(self.worker, file, known))
            for _ in range(rounds)
        ]
        ratio = median(known.per_cpu_second / unknown.per_cpu_second for unknown, known in turns)
        per_second = median(known.load.per_second for _, known in turns)
        yield Row(WITH_SESSION, rounded(per_second), "requests/s", {WITHOUT_SESSION: rounded(ratio)})

    def curves(self, kinds: Mapping[str, list[str]], levels: Sequence[int]) -> Curves:
        """Latency against load, for the routes as they are served."""
        curves = {REFERENCE: self._curve(self._reference, self._fixed, levels)}
        for name, paths in kinds.items():
            curves[name] = self._curve(self.worker, self._loader.paths(paths), levels)
        return curves

    def _compared(
        self, name: str, server: Server, paths: Path, rounds: int, header: str | None = None
    ) -> Iterator[Row]:
        warm = self._turn(server, paths, header)
        sized = self._loader.paths([f"/{max(round(warm.load.mean_bytes) - HEAD_BYTES, 2)}"])
        turns = [
            (
                self._turn(self._reference, self._fixed),
                self._turn(self._reference, sized),
                self._turn(server, paths, header),
            )
            for _ in range(rounds)
        ]
        fixed, _, ours = zip(*turns, strict=True)
        self._reference_speeds.extend(turn.per_cpu_second for turn in fixed)
        ratios = {
            REFERENCE: rounded(median(o.load.per_second / f.load.per_second for f, _, o in turns)),
            BY_CPU: rounded(median(o.per_cpu_second / f.per_cpu_second for f, _, o in turns)),
            SAME_SIZE: rounded(median(o.per_cpu_second / s.per_cpu_second for _, s, o in turns)),
        }
        yield Row(name, rounded(median(turn.load.per_second for turn in ours)), "requests/s", ratios)
        slowest, fixed_slowest = (median(turn.load.p99 for turn in column) for column in (ours, fixed))
        slower = {REFERENCE: rounded(slowest / fixed_slowest)}
        yield Row(p99(name), rounded(slowest), "ms", slower)

    def _turn(self, server: Server, paths: Path, header: str | None = None) -> Turn:
        before = machine.cpu_seconds(server.pid)
        load = self._loader.run(server.url, paths, CONNECTIONS, header)
        spent = max(machine.cpu_seconds(server.pid) - before, 0.01)
        return Turn(load, load.requests / spent)

    def _curve(self, server: Server, paths: Path, levels: Sequence[int]) -> list[Load]:
        return [self._loader.run(server.url, paths, connections) for connections in levels]


@contextmanager
def started(data_dir: Path, loader: Loader, scratch: Path) -> Iterator[ApiBench]:
    """Start the three servers on one core; only the one that is asked has anything to do."""
    with ExitStack() as stack:
        stack.enter_context(reader_of(data_dir, scratch))
        worker = stack.enter_context(worker_of(data_dir, scratch))
        uncached = stack.enter_context(worker_of(data_dir, scratch, FMSVC_RESPONSE_CACHE_BYTES="0"))
        reference = stack.enter_context(_reference(scratch))
        yield ApiBench(loader, worker, uncached, reference)


@contextmanager
def reader_of(data_dir: Path, scratch: Path) -> Iterator[int]:
    """The process that has the snapshots of this folder open; its id. It may use any core."""
    log = scratch / "snapshots.log"
    command, variables = ["-m", "readapi", "snapshots"], {"FMSVC_DATA_DIR": str(data_dir)}
    with machine.program(command, variables, None, log) as process:
        path = messages.socket_of(data_dir)
        machine.wait_for(lambda: control_socket.is_listening(path), process, f"{path} (see {log})")
        yield process.pid


@contextmanager
def worker_of(data_dir: Path, scratch: Path, **more: str) -> Iterator[Server]:
    """One API worker, with the defaults of a service, that refuses nobody for asking often.

    It needs the folder's `reader_of`.
    """
    port = free_port()
    variables = {
        "FMSVC_DATA_DIR": str(data_dir),
        "FMSVC_PORT": str(port),
        "FMSVC_PUBLIC_URL": BASE_URL,
        "FMSVC_RATE_LIMIT": NOBODY_IS_REFUSED,
    }
    with _server(["-m", "readapi", "api"], variables | more, port, "/stats", scratch / "api.log") as server:
        yield server


@contextmanager
def _reference(scratch: Path) -> Iterator[Server]:
    """It answers as many bytes as a track has."""
    body, port = scratch / "body.json", free_port()
    body.write_text('{"text": "' + "x" * 1900 + '"}')
    command = ["-m", "tests.bench.reference", str(port), str(body)]
    with _server(command, {}, port, "/", scratch / "reference.log") as server:
        yield server


@contextmanager
def _server(
    command: list[str], variables: Mapping[str, str], port: int, path: str, log: Path
) -> Iterator[Server]:
    url = f"http://127.0.0.1:{port}"
    core, _ = machine.cores()
    with machine.program(command, variables, core, log) as process:
        machine.until_answers(f"{url}{path}", process, log)
        yield Server(url, process.pid)


def search_row(name: str) -> str:
    """The name of the row of a class of searches."""
    return f"GET /search/ {name}, {UNCACHED}"


def p99(name: str) -> str:
    """The name of the row that tells a route's latency."""
    return f"{name}, p99 at {CONNECTIONS} connections"
