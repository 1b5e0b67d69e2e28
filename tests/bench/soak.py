"""`fmsvc-server serve` on its defaults, fed by a loopback relay as fast as it reads, for SOAK_MINUTES.

`python -m tests.bench.soak [--write]` prints one JSON object: what was sent, how every aggregate was answered
meanwhile, the snapshots on the disk, the memory of each process over time, and how long the lag took to
return to zero after the last frame. In the first half the catalogue grows; in the second it keeps its size at
the same rate of commits: tracks are changed, likes taken back and given again. Exits with 1 when an answer
failed, a snapshot leaked, a limit of memory was broken, memory grew in the second half, or something written
cannot be seen. `--write` renews `RESULTS.md`.

`SOAK_MINUTES=1` is the short run: everything but growth, which means nothing before programs are warm.
"""

import asyncio
import itertools
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

from aiohttp import web

from schemas.settings import Settings
from tests.bench import results
from tests.bench.machine import Memory, children
from tests.bench.memory import INDEXER_LIMIT, WORKER_LIMIT
from tests.network.forge import ForgedRepo, Written
from tests.network.forged_network import ForgedNetwork
from tests.network.relay import PATH
from tests.network.server import Server, free_port, running_server

PEOPLE: Final = 300
OTHERS_PER_COMMIT: Final = 9  # commits of other collections between two of ours
OTHERS_BYTES: Final = 4_000
WINDOW: Final = 100_000
SAMPLE_SECONDS: Final = 5.0
DRAIN_SECONDS: Final = 120.0
ZERO_SECONDS: Final = 1.0  # the lag is looked at twice a second
READ_SECONDS: Final = 0.1  # between two questions
GROWTH_LIMIT: Final = 0.03  # of private memory, from the third quarter to the last
GROWTH_MINUTES: Final = 8.0  # of a run that is long enough for that
# The newest two, and two that each worker may hold besides.
SNAPSHOTS_LIMIT: Final = 2 + 2 * Settings().workers
AGGREGATES: Final = (
    "/stats",
    "/tracks/tags",
    "/tracks/tags?q=so&limit=5",
    *(f"/tracks/top?period={period}&limit=50" for period in ("all_time", "month", "week", "day")),
)
OTHERS: Final = ("/search/?q=song", "/tracks/", "/ready")


def people() -> list[ForgedRepo]:
    """Those who write, with nothing written yet."""
    return [ForgedRepo(seed=f"soak {number}", start=datetime.now(UTC)) for number in range(PEOPLE)]


class Network:
    """Endless: people write and delete, signed; most commits are about something else.

    `steady`: what there is is replaced, and nothing added.
    """

    def __init__(self, repos: list[ForgedRepo], seed: int = 7) -> None:
        self.steady = False
        self.tracks = 0  # that there are now
        self._repos = repos
        self._rng = random.Random(seed)
        self._known: deque[tuple[ForgedRepo, Written]] = deque(maxlen=5_000)
        self._liked: deque[tuple[ForgedRepo, Written]] = deque(maxlen=5_000)
        self._owed: ForgedRepo | None = None  # took a like back, and gives another

    def stream(self) -> Iterator[bytes]:
        """Frames, numbered from 1."""
        stranger = ForgedRepo(seed="somebody else", start=datetime.now(UTC), minimal=True)
        stranger.create("app.example.post", {"text": "x" * OTHERS_BYTES})
        other = stranger.commit_frame(1)
        for seq in itertools.count(1):
            yield self._write(seq) if seq % (OTHERS_PER_COMMIT + 1) == 0 else _renumbered(other, seq)

    def _write(self, seq: int) -> bytes:
        repo = self._replace(seq) if self.steady and self._known and self._liked else self._add(seq)
        return repo.commit_frame(seq, datetime.now(UTC))

    def _add(self, seq: int) -> ForgedRepo:
        repo, what = self._rng.choice(self._repos), self._rng.random()
        if not self._known or what < 0.3:
            self._known.append((repo, repo.create("fm.svc.track", self._track(repo, seq))))
            self.tracks += 1
        elif what < 0.9:
            self._like(repo)
        else:
            repo, gone = self._known.popleft()
            repo.delete("fm.svc.track", gone.rkey)
            self.tracks -= 1
        return repo

    def _replace(self, seq: int) -> ForgedRepo:
        """A like taken back is followed by another one, so that their number stays."""
        if self._owed is not None:
            repo, self._owed = self._owed, None
            self._like(repo)
        elif self._rng.random() < 0.4:
            at = self._rng.randrange(len(self._known))
            repo, track = self._known[at]
            self._known[at] = repo, repo.update("fm.svc.track", track.rkey, self._track(repo, seq))
        else:
            repo, like = self._liked.popleft()
            repo.delete("fm.svc.like", like.rkey)
            self._owed = repo
        return repo

    def _like(self, repo: ForgedRepo) -> None:
        _, subject = self._rng.choice(self._known)
        like = {"subject": subject.ref, "createdAt": _iso(repo.now)}
        self._liked.append((repo, repo.create("fm.svc.like", like)))

    def _track(self, repo: ForgedRepo, seq: int) -> dict[str, Any]:
        about = {"title": f"Song {seq} of {self._rng.randrange(1000)}", "artist": "Somebody"}
        return {**about, "fileType": "mp3", "createdAt": _iso(repo.now), "tags": ["soak"]}


def _iso(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")


def _renumbered(raw: bytes, seq: int) -> bytes:
    """The same message under another number, without encoding it again."""
    at = raw.index(b"cseq") + 4
    return raw[:at] + b"\x1b" + seq.to_bytes(8, "big") + raw[at + 1 :]


class Relay:
    """Serves the stream to one reader, as fast as it reads, until told to stop."""

    def __init__(self, network: Network) -> None:
        self.sent = 0
        self.stopped = False
        self._stream = network.stream()
        self._kept: deque[bytes] = deque(maxlen=WINDOW)

    async def subscribe(self, request: web.Request) -> web.WebSocketResponse:
        cursor = int(request.query.get("cursor", 0))
        connection = web.WebSocketResponse(compress=False)
        await connection.prepare(request)
        for raw in itertools.islice(tuple(self._kept), max(0, len(self._kept) - (self.sent - cursor)), None):
            await connection.send_bytes(raw)
        while not self.stopped:
            raw = next(self._stream)
            self._kept.append(raw)
            self.sent += 1
            await connection.send_bytes(raw)
            await asyncio.sleep(0)  # others in this process are asked things, too
        await connection.receive()
        return connection


@dataclass
class Seen:
    """What was seen of the service while it ran."""

    memory: list[dict[str, Memory]] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)  # by path
    snapshots: int = 0  # at most, on the disk

    def look(self, server: Server, folder: Path) -> None:
        """Take a sample of the processes and of the disk."""
        processes = children(server.process.pid)
        self.memory.append({name: Memory.of(pid) for name, pid in processes.items()})
        self.snapshots = max(self.snapshots, len(list(folder.glob("snapshots/catalog-*.duckdb"))))

    async def read(self, server: Server) -> None:
        """Ask for everything in turn, for ever, and count how it is answered."""
        for path in itertools.cycle((*AGGREGATES, *OTHERS)):
            status, _ = await server.ask(path)
            self.statuses[status] += 1
            # 503 of /ready is how it tells a lag, which a relay without end makes.
            if status != 200 and path != "/ready":
                self.failed[f"{status} {path}"] += 1
            await asyncio.sleep(READ_SECONDS)

    def most(self, name: str) -> float:
        """The most that a process held, mapped files included."""
        return max(sample[name].resident for sample in self.memory if name in sample)

    def growth(self, name: str) -> float:
        """What the private memory of the last quarter is beyond that of the third, as a share."""
        held = [sample[name].private for sample in self.memory if name in sample]
        half = held[len(held) // 2 :]
        third, last = half[: len(half) // 2], half[len(half) // 2 :]
        return round(median(last) / median(third) - 1, 4) if third else 0.0


async def soak(minutes: float) -> dict[str, Any]:
    """One run on a fresh folder."""
    repos = people()
    written = Network(repos)
    relay = Relay(written)
    app = web.Application()
    app.router.add_get(PATH, relay.subscribe)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    async with ForgedNetwork(repos) as network, _folder() as folder:
        variables = {
            "FMSVC_DATA_DIR": folder,
            "FMSVC_RELAY": f"ws://127.0.0.1:{port}",
            "FMSVC_PLC_URL": network.url,
            "FMSVC_HANDLE_RESOLVER": network.url,
            "FMSVC_ALLOW_LOOPBACK": "true",
            "FMSVC_PORT": str(free_port()),
            "FMSVC_RATE_LIMIT": "1000000/minute",
            "FMSVC_LOG_LEVEL": "error",
        }
        async with running_server(variables) as server:
            seen = await _watched(server, Path(folder), written, minutes * 60)
            relay.stopped = True
            drained = await _drained(server, written)
            _, stats = await server.ask("/stats")
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    await runner.cleanup()
    return _summary(minutes, relay.sent, seen, drained, stats | {"tracks_written": written.tracks}, size)


@asynccontextmanager
async def _folder() -> AsyncIterator[str]:
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        yield folder


async def _watched(server: Server, folder: Path, written: Network, seconds: float) -> Seen:
    seen = Seen()
    for _ in range(600):  # until there is a first snapshot
        if (await server.ask("/stats"))[0] == 200:
            break
        await asyncio.sleep(0.2)
    started = time.monotonic()
    reading = asyncio.create_task(seen.read(server))
    while (passed := time.monotonic() - started) < seconds:
        written.steady = passed > seconds / 2
        await asyncio.sleep(SAMPLE_SECONDS)
        seen.look(server, folder)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    return seen


async def _drained(server: Server, written: Network) -> float | None:
    """Seconds until the index had caught up with everything sent; None when it did not."""
    started, caught_up = time.monotonic(), None
    while time.monotonic() - started < DRAIN_SECONDS:
        status, ready = await server.ask("/ready")
        if caught_up is None and status == 200 and ready["lag_seconds"] < ZERO_SECONDS:
            caught_up = round(time.monotonic() - started, 1)
        _, stats = await server.ask("/stats")
        # A snapshot shows it a little later.
        if caught_up is not None and stats["total_tracks"] == written.tracks:
            return caught_up
        await asyncio.sleep(0.2)
    return None


def _summary(
    minutes: float, sent: int, seen: Seen, drained: float | None, stats: dict[str, Any], size: int
) -> dict[str, Any]:
    names = sorted(seen.memory[-1])
    most = {name: seen.most(name) for name in names}
    growth = {name: seen.growth(name) for name in names}
    limits = {name: INDEXER_LIMIT if name == "index" else WORKER_LIMIT for name in names}
    middle, last = seen.memory[len(seen.memory) // 2], seen.memory[-1]
    faults = [
        *(f"{number} answers of {what}" for what, number in seen.failed.items()),
        *(f"{name} held {most[name]} MB" for name in names if most[name] > limits[name]),
        *(
            f"{name} grew by {growth[name]:.1%} in the second half"
            for name in names
            if minutes >= GROWTH_MINUTES and growth[name] > GROWTH_LIMIT
        ),
    ]
    if seen.snapshots > SNAPSHOTS_LIMIT:
        faults.append(f"{seen.snapshots} snapshots at once")
    if drained is None:
        faults.append("what was written could not all be seen")
    return {
        "minutes": minutes,
        "frames_sent": sent,
        "frames_per_second": round(sent / (minutes * 60)),
        "answers": {str(status): number for status, number in sorted(seen.statuses.items())},
        "most_snapshots": seen.snapshots,
        "peak_megabytes": most,
        "halfway_megabytes": {name: middle[name].resident for name in names if name in middle},
        "last_megabytes": {name: last[name].resident for name in names},
        "limit_megabytes": limits,
        "growth_in_second_half": growth,
        "private_megabytes_of_index": [
            sample["index"].private for sample in seen.memory if "index" in sample
        ],
        "folder_megabytes": round(size / 1e6),
        "seconds_until_lag_was_zero": drained,
        "tracks_written": stats["tracks_written"],
        "total_tracks": stats.get("total_tracks"),
        "total_likes": stats.get("total_likes"),
        "faults": faults,
        "ok": not faults,
    }


if __name__ == "__main__":
    result = asyncio.run(soak(float(os.environ.get("SOAK_MINUTES", "10"))))
    print(json.dumps(result))
    if "--write" in sys.argv:
        results.keep(soak=result)
    sys.exit(0 if result["ok"] else 1)
