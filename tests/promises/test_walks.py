"""docs/walks.md names the files that run for a frame, a search and an upload.

A service does all three while its processes are traced (`walk_tracer/`). Each file that the page names must
run, and each that runs must be named. Paragraphs that begin with `At times`, and the section of what runs at
rest, name files that may run.
"""

import asyncio
import math
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.network import media
from tests.network.testnet import Network, Testnet
from tests.readapi.studio import open_studio

ROOT = Path(__file__).parents[2]
FILE = re.compile(r"`((?:indexer|readapi|schemas)/[\w/]+\.py)`")
PAGE = (ROOT / "docs" / "walks.md").read_text()
MOST_FILES_OF_AN_UPLOAD = 40
PAUSE_SECONDS = 0.2  # longer than the tracer is silent about a file that it has written
# The process that examines a recording starts without environment and is not traced: it runs what it imports.
READER = "readapi.audio.decoding.transcode_process"
IMPORTED = f"""
import sys
import {READER}
print(*(module.__file__ for module in sys.modules.values() if getattr(module, "__file__", None)), sep="\\n")
"""


@dataclass(frozen=True, slots=True)
class Window:
    """A span of the monotonic clock, in nanoseconds."""

    start: int
    end: int


class Trace:
    """What the traced processes write."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "trace"
        self.variables = {
            "PYTHONPATH": str(Path(__file__).parent / "walk_tracer"),
            "WALK_ROOT": str(ROOT),
            "WALK_FILE": str(self._path),
        }

    def files(self, program: str, start: int, end: float = math.inf) -> list[str]:
        """The files that one program ran in this time, in the order in which they were first called."""
        lines = [line.split() for line in self._path.read_text().splitlines()]
        ran = [(int(at), file) for at, name, file in lines if name == program]
        return list(dict.fromkeys(file for at, file in sorted(ran) if start <= at < end))


@dataclass(frozen=True, slots=True)
class Walk:
    """It was taken twice.

    `within`: the files that ran both times until it was done, so that a loop that happens to come by once is
    none of them; `since`: all that ran since the first time began.
    """

    within: list[str]
    since: set[str]


async def walks(network: Network, folder: Path) -> dict[str, Walk]:
    """One of each, by the page's headings."""
    trace = Trace(folder)
    async with (
        Testnet.connect(network) as net,
        open_studio(net, folder / "data", **trace.variables) as studio,
    ):
        artist = await studio.artist()
        await artist.upload(media.tone(1, 440), title="First")  # what is made on first use is made
        frames = [await during(artist.write_track(f"Walked {number}")) for number in range(2)]
        searches = [await during(artist.ask("GET", f"/search/?q={word}")) for word in ("walked", "first")]
        uploads = [
            await during(artist.upload(media.tone(1, 330 + number), title=f"Second {number}"))
            for number in range(2)
        ]

    def walk(windows: list[Window], *programs: str, more: Sequence[str] = ()) -> Walk:
        first, second = (
            [file for name in programs for file in trace.files(name, window.start, window.end)]
            for window in windows
        )
        since = {file for name in programs for file in trace.files(name, windows[0].start)}
        return Walk([*(file for file in first if file in second), *more], since.union(more))

    return {
        "A frame": walk(frames, "index"),
        "A search": walk(searches, "api"),
        "An upload": walk(uploads, "api", "work", more=reader()),
    }


async def during(work: Awaitable[object]) -> Window:
    """The span of some work; what was called just before is written again when it is called in it."""
    await asyncio.sleep(PAUSE_SECONDS)
    start = time.monotonic_ns()
    await work
    return Window(start, time.monotonic_ns())


def reader() -> list[str]:
    """The files of the process that examines a recording."""
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    files = (Path(line) for line in done.stdout.splitlines())
    return [str(file.relative_to(ROOT)) for file in files if file.is_relative_to(ROOT / "readapi")]


@pytest.mark.network
@pytest.mark.slow
async def test_the_page_names_the_files_that_run(network: Network, tmp_path: Path) -> None:
    """No more and no fewer."""
    at_rest, _ = named("At rest")
    wrong = {}
    for name, walk in (await walks(network, tmp_path)).items():
        always, at_times = named(name)
        unnamed = [file for file in dict.fromkeys(walk.within) if file not in always | at_times | at_rest]
        if unnamed or always - walk.since:
            wrong[name] = {"run and are not named": unnamed, "are named and do not run": always - walk.since}

    assert wrong == {}


def test_an_upload_has_few_files_of_its_own() -> None:
    """Those of the numbered steps; what it shares with every request and write comes after."""
    steps = section("An upload").split("\n\nBeside these", 1)[0]

    assert 20 < len(set(FILE.findall(steps))) <= MOST_FILES_OF_AN_UPLOAD


def section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def named(heading: str) -> tuple[set[str], set[str]]:
    """The files of a section: those that always run, and those that may."""
    always: set[str] = set()
    at_times: set[str] = set()
    for paragraph in section(heading).split("\n\n"):
        (at_times if paragraph.startswith("At times") else always).update(FILE.findall(paragraph))
    return always, at_times - always
