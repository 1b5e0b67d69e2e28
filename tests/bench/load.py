"""Puts a server to work with wrk: so many connections, each asking again as soon as it is answered."""

import itertools
import json
import random
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LEVELS: Final = (1, 2, 4, 8, 16, 32, 64)
SCRIPT: Final = Path(__file__).with_name("load.lua")


class ProgramMissing(Exception):
    """A program that the benchmark needs is not installed; the message says how to get it."""


@dataclass(frozen=True, slots=True)
class Load:
    """What came back. Latencies in milliseconds."""

    connections: int
    requests: int
    per_second: float
    p50: float
    p99: float
    mean_bytes: float


class Loader:
    """Runs wrk on one core. Every run begins at another of the paths."""

    def __init__(self, core: int, seconds: float, folder: Path) -> None:
        if shutil.which("wrk") is None:
            raise ProgramMissing(
                "The benchmark needs wrk: apt-get install wrk, or https://github.com/wg/wrk."
            )
        self._core = core
        self._seconds = seconds
        self._folder = folder
        self._begin = random.Random(1)
        self._files = itertools.count()
        folder.mkdir(parents=True, exist_ok=True)

    def paths(self, paths: Sequence[str]) -> Path:
        """A file of paths that `run` takes."""
        file = self._folder / f"paths-{next(self._files)}.txt"
        file.write_text("".join(f"{path}\n" for path in paths))
        return file

    def run(self, url: str, paths: Path, connections: int, header: str | None = None) -> Load:
        """Load the server, with one more header if any. Raises when any answer was not a 2xx or 3xx."""
        begin = str(self._begin.randrange(1 << 30))
        command = ["taskset", "--cpu-list", str(self._core), "wrk", "--threads", "1"]
        command += ["--connections", str(connections), "--duration", f"{self._seconds:.0f}s", "--latency"]
        command += [] if header is None else ["--header", header]
        command += ["--timeout", "10s", "--script", str(SCRIPT), url, "--", str(paths), begin]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        said = json.loads(next(line for line in output.splitlines() if line.startswith("result "))[7:])
        if said["refused"] or said["broken"]:
            raise RuntimeError(f"{said['refused']} answers were refusals, {said['broken']} broke: {paths}")
        requests = max(said["requests"], 1)
        per_second, mean_bytes = requests / said["seconds"], said["bytes"] / requests
        return Load(connections, requests, per_second, said["p50"], said["p99"], mean_bytes)
