"""The metrics of every process: each serves its own on a Unix socket, and any of them answers with all."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from schemas import control_socket, data_folder
from schemas.control_socket import Unanswered
from schemas.settings import Settings

log = structlog.get_logger()

INDEXER = "indexer"
WORK = "work"
SNAPSHOTS = "snapshots"
ALONE = "api-1"
PATIENCE_SECONDS = 1.0  # with each process; all are asked concurrently
MOST_BYTES = 4 << 20  # of one process's metrics


def api_names(settings: Settings) -> tuple[str, ...]:
    """The names of the API's worker processes."""
    return tuple(f"api-{number}" for number in range(1, settings.workers + 1))


class Processes:
    """The other processes of the service in this data folder."""

    def __init__(self, settings: Settings, name: str = ALONE) -> None:
        self._name = name
        self._folder = settings.data_dir
        self._others = dict.fromkeys((*api_names(settings), INDEXER, SNAPSHOTS, WORK))
        self._others.pop(name, None)

    async def text(self, own: bytes) -> bytes:
        """This process's metrics and those of the others, with `fmsvc_up` 0 for each that does not answer."""
        asked = await asyncio.gather(*(_ask(socket_of(self._folder, name)) for name in self._others))
        heard = {self._name: own} | {
            name: text for name, text in zip(self._others, asked, strict=True) if text is not None
        }
        up = {name: name in heard for name in sorted((self._name, *self._others))}
        return _up(up) + await asyncio.to_thread(merge_metrics, heard)


def socket_of(folder: Path, name: str) -> Path:
    """The socket that a process serves its metrics on; the indexer's is its control socket."""
    return folder / (data_folder.CONTROL_SOCKET if name == INDEXER else f"metrics-{name}.sock")


@asynccontextmanager
async def serve_metrics(folder: Path, name: str, metrics: Callable[[], bytes]) -> AsyncIterator[None]:
    """Serve this process's metrics to the others while the block runs."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=metrics(), content_type="text/plain", charset="utf-8")

    app = web.Application()
    app.router.add_get(control_socket.METRICS, answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    path = socket_of(folder, name)
    async with AsyncExitStack() as stack:
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        try:
            path.unlink(missing_ok=True)
            await web.UnixSite(runner, path).start()
        except OSError as error:
            # Metrics are optional: the service runs without them.
            log.warning("metrics are not offered", socket=str(path), error=str(error)[:200])
        yield


async def _ask(path: Path) -> bytes | None:
    """The metrics of one process; None without an answer in time and within MOST_BYTES."""
    try:
        answer = await control_socket.ask(
            path, "GET", control_socket.METRICS, seconds=PATIENCE_SECONDS, most_bytes=MOST_BYTES
        )
    except Unanswered:
        return None
    return answer.body


def merge_metrics(texts: Mapping[str, bytes]) -> bytes:
    """The texts merged: each metric family once, each sample labelled with its process. Pure."""
    heads: dict[str, dict[str, str]] = {}
    samples: dict[str, list[str]] = {}
    for process, text in texts.items():
        family = ""
        for line in text.decode().split("\n"):
            if line.startswith("# "):
                _, kind, family, _ = f"{line} ".split(" ", 3)
                heads.setdefault(family, {}).setdefault(kind, line)
            elif line:
                samples.setdefault(family, []).append(_add_label(line, process))
    lines = [line for family, head in heads.items() for line in (*head.values(), *samples.get(family, ()))]
    return "".join(f"{line}\n" for line in lines).encode()


def _add_label(sample: str, process: str) -> str:
    name, brace, rest = sample.partition("{")
    if brace:
        return f'{name}{{process="{process}",{rest}'
    name, _, value = sample.partition(" ")
    return f'{name}{{process="{process}"}} {value}'


def _up(processes: Mapping[str, bool]) -> bytes:
    registry = CollectorRegistry()
    up = Gauge("fmsvc_up", "1 for a process that answers.", ["process"], registry=registry)
    for name, answers in processes.items():
        up.labels(name).set(answers)
    return generate_latest(registry)
