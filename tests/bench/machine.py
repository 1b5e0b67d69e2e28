"""Processes under measurement: each on a core of its own, with what Linux tells of their time and memory."""

import os
import platform
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 20.0
_TICKS = os.sysconf("SC_CLK_TCK")
_PARTS: Final = ("index", "snapshots", "api", "work")  # of a service: subcommands
_LIBRARIES: Final = ("aiohttp", "uvloop", "duckdb", "tantivy", "atproto")


class ProgramFailed(Exception):
    """A process under measurement ended or never answered; the message says which."""


def cores() -> tuple[int, int]:
    """The core for what is measured, and one for what puts it to work; the same when there is only one."""
    available = sorted(os.sched_getaffinity(0))
    return available[0], available[-1]


@contextmanager
def program(
    arguments: Sequence[str], variables: Mapping[str, str], core: int | None, log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `python …` with these FMSVC_* variables and no others, on one core; it ends with the block."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FMSVC_")}
    pinned = [] if core is None else ["taskset", "--cpu-list", str(core)]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*pinned, sys.executable, *arguments],
            env={**inherited, **variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def until_answers(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a GET is answered with 200."""
    wait_for(lambda: _answers(url), process, f"{url} (see {log})")


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes], what: str) -> None:
    """Wait until something is so, unless the process ends or START_SECONDS pass."""
    deadline = time.monotonic() + START_SECONDS
    while not condition():
        if process.poll() is not None:
            raise ProgramFailed(f"The process ended with code {process.returncode} before {what} answered.")
        if time.monotonic() > deadline:
            raise ProgramFailed(f"{what} did not answer within {START_SECONDS:.0f} s.")
        time.sleep(0.05)


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has had, all threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def cpu_seconds_of_all(pid: int) -> float:
    """The same of a process and those that it has started and that still run."""
    return cpu_seconds(pid) + sum(map(cpu_seconds, children(pid).values()))


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident megabytes of a process: its own, those with mapped files, and the most it ever had."""

    private: float
    resident: float
    peak: float

    @classmethod
    def of(cls, pid: int) -> "Memory":
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.endswith(" kB")}
        return cls(*(round(sizes[name] / 1024, 1) for name in ("RssAnon", "VmRSS", "VmHWM")))


@dataclass(frozen=True, slots=True)
class Held:
    """Memory of a process; `limited` megabytes of it are of a part with a limit of its own."""

    memory: Memory
    limited: float = 0.0

    @property
    def rest(self) -> float:
        """What is nobody's but the process's, without that part."""
        return self.memory.private - self.limited


def children(pid: int) -> dict[str, int]:
    """The processes that `fmsvc-server serve` has started: their subcommand and number."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            words = Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
            found[next((word for word in _PARTS if word in words), child)] = int(child)
    return found


def described(folder: Path) -> dict[str, str]:
    """What the figures were measured on. `folder`: of the catalogues, which tells the file system."""
    info = Path("/proc/cpuinfo").read_text()
    model = next(
        (line.split(":")[1].strip() for line in info.splitlines() if "model name" in line), "unknown"
    )
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in _LIBRARIES)
    return {
        "processor": f"{model}, {len(os.sched_getaffinity(0))} cores usable",
        "memory": f"{gigabytes:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "file system": _file_system(folder),
        "libraries": versions,
        "speed": f"{_steps_per_second() / 1e6:.1f} million steps of a loop in Python per CPU second",
        "load": f"{os.getloadavg()[0]:.1f} on average in the minute before the end",
    }


def _file_system(folder: Path) -> str:
    """The type of the file system that has this folder, as `xfs`."""
    device = os.stat(folder).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    mounts = map(str.split, Path("/proc/self/mountinfo").read_text().splitlines())
    return next((fields[fields.index("-") + 1] for fields in mounts if fields[2] == number), "unknown")


def _steps_per_second() -> float:
    """How fast a core is at this moment: the best of several tries. For comparing runs with each other."""
    steps, took = 1_000_000, []
    for _ in range(5):
        begun, total = time.process_time(), 0
        for number in range(steps):
            total += number * number % 7
        took.append(time.process_time() - begun)
    return steps / min(took)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False
