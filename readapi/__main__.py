"""The server's command line: `fmsvc-server serve`, and the parts that `serve` is made of.

The composition root: the only module that knows both the indexer and the API. Each command imports what it
runs, so that a worker does not carry the indexer's libraries in memory.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

import cyclopts

from readapi import logs
from readapi.supervisor import DAMAGED, Program, follow_parent, supervise
from schemas.settings import Settings, SettingsError

Answer = TypeVar("Answer")
UNUSABLE = 2  # exit code when what was given on the command line or in the environment is wrong

app = cyclopts.App(
    name="fmsvc-server",
    help="An index of every audio record on the AT Protocol network, and the API on top of it. "
    "Configured by FMSVC_* environment variables.",
    version_flags=[],
)


@app.command
def serve(*, supervised: bool = False) -> None:
    """Run the indexer and the API, and restart what dies."""
    settings = _begin("serve", supervised)
    api = [Program(f"api-{number}", ("api",)) for number in range(1, settings.workers + 1)]
    sys.exit(asyncio.run(supervise([Program("index", ("index",)), *api])))


@app.command
def index(*, supervised: bool = False) -> None:
    """Follow the network and keep the index; the API runs elsewhere."""
    from indexer import service

    settings = _begin("index", supervised)
    _or_explain(lambda: asyncio.run(service.run(settings)))


@app.command
def api(*, supervised: bool = False) -> None:
    """Serve the API from an index that another process keeps."""
    import uvloop

    from readapi import worker

    settings = _begin("api", supervised)
    uvloop.run(worker.run(settings))


@app.command
def replay(file: Path) -> None:
    """Apply a recorded firehose file to the index.

    Parameters
    ----------
    file
        What `fmsvc-server record` wrote.
    """
    from indexer import service
    from readapi.progress import Progress

    settings = _begin("replay")
    with Progress("replaying", "frames") as progress:
        _or_explain(lambda: asyncio.run(service.replay(settings, file, progress)))


@app.command
def record(file: Path, *, seconds: float | None = None, frames: int | None = None) -> None:
    """Write the firehose to a file, to be replayed later.

    Parameters
    ----------
    file
        Where to write; frames are added at its end.
    seconds
        Stop after so long; default: when interrupted.
    frames
        Stop after so many messages.
    """
    from indexer import service
    from readapi.progress import Progress

    settings = _begin("record")
    with Progress("recording", "frames", total=frames) as progress:
        _or_explain(lambda: asyncio.run(service.record(settings, file, seconds, frames, progress)))


@app.command
def rebuild() -> None:
    """Drop the search index and make it again from the catalogue. The indexer must not be running."""
    from indexer import service
    from readapi.progress import Progress

    settings = _begin("rebuild")
    with Progress("rebuilding", "documents") as progress:
        _or_explain(lambda: service.rebuild(settings, progress))


@app.command
def check() -> None:
    """Open all stores, print counts, cursor and lag; exit with 3 when anything is damaged."""
    from indexer import service

    settings = _begin("check")
    report = _or_explain(lambda: service.check(settings))
    for table, count in report.counts.items():
        print(f"{table}: {count:,} rows")
    for cursor in report.cursors:
        lag = "unknown" if cursor.lag_seconds is None else f"{cursor.lag_seconds:,.1f} s"
        print(f"cursor of {cursor.source}: {cursor.seq} at {cursor.event_time or 'no time'}, lag {lag}")
    print(
        f"outbox: {report.op}, search index: {report.watermark if report.watermark is not None else 'in use'}"
    )
    print("\n".join(report.problems) or "No problem found.")
    if report.problems:
        sys.exit(DAMAGED)


def main() -> None:
    """Entry point of `fmsvc-server`."""
    app()


def _begin(program: str, supervised: bool = False) -> Settings:
    try:
        settings = Settings.from_environment(os.environ)
    except SettingsError as error:
        _stop(UNUSABLE, str(error))
    logs.configure(settings, program)
    if supervised:
        follow_parent()
    return settings


def _or_explain(work: Callable[[], Answer]) -> Answer:
    """Do the work; damage to our own store, or a file that is no use, ends the program with a sentence."""
    from indexer.catalogue import StoreError
    from indexer.sources.recorded import RecordingError

    try:
        return work()
    except StoreError as error:
        _stop(DAMAGED, str(error))
    except (RecordingError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        _stop(UNUSABLE, str(error))


def _stop(code: int, sentence: str) -> NoReturn:
    print(f"fmsvc-server: {sentence}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
