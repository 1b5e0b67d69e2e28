"""The server's command line: `fmsvc-server serve`, and the parts that `serve` is made of.

The composition root: the only module that knows both the indexer and the API. Each command imports what it
runs, so that a worker does not carry the indexer's libraries in memory.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

import cyclopts
from cyclopts import Parameter
from cyclopts.validators import Number

from readapi import logs
from readapi.supervisor import DAMAGED, Program, follow_parent, supervise
from schemas.settings import Settings, SettingsError

if TYPE_CHECKING:
    from indexer.dead_letters import Wanted
    from readapi.oauth.network import Network

Answer = TypeVar("Answer")
FAILED = 1  # exit code when what was asked for could not be done this time
UNUSABLE = 2  # exit code when what was given on the command line or in the environment is wrong

app = cyclopts.App(
    name="fmsvc-server",
    help="An index of every audio record on the AT Protocol network, and the API on top of it. "
    "Configured by FMSVC_* environment variables.",
    version_flags=[],
)


@app.command
def serve(*, supervised: bool = False) -> None:
    """Run the indexer, the API and the job worker, and restart what dies."""
    settings = _begin("serve", supervised)
    api = [Program(f"api-{number}", ("api",)) for number in range(1, settings.workers + 1)]
    sys.exit(asyncio.run(supervise([Program("index", ("index",)), *api, Program("work", ("work",))])))


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
    from readapi.keeper import Keeper

    settings = _begin("api", supervised)

    async def work() -> None:
        async with open_network(settings) as network:
            await worker.run(settings, network, Keeper([sys.executable, "-m", "readapi", "keep"]))

    _with_state(lambda: uvloop.run(work()))


@app.command
def work(*, supervised: bool = False) -> None:
    """Work at uploads and publishing jobs; the API runs elsewhere."""
    from readapi.keeper import Keeper
    from readapi.publishing import process

    settings = _begin("work", supervised)

    async def run() -> None:
        async with open_network(settings) as network:
            await process.run(settings, network, Keeper([sys.executable, "-m", "readapi", "keep"]))

    _with_state(lambda: asyncio.run(run()))


@app.command(show=False)
def keep() -> None:
    """Refresh grants for the worker at standard input, and outlive it."""
    from readapi import people

    settings = _begin("keep")

    async def refresh() -> None:
        async with open_network(settings) as network:
            await people.keep(settings, network)

    _with_state(lambda: asyncio.run(refresh()))


@app.command
def migrate() -> None:
    """Bring the state database's schema up to date, and encrypt anew what older keys encrypted.

    Every worker does the first when it starts. After a new key was put before the others in
    FMSVC_SECRET_KEYS, this does the second; then the old key may go.
    """
    from readapi.state.state import open_state

    settings = _begin("migrate")

    async def prepare() -> tuple[str, int]:
        async with open_state(settings) as state:
            return state.revision, await state.grants.reseal()

    revision, resealed = _with_state(lambda: asyncio.run(prepare()))
    print(f"The state database has schema {revision}; {resealed:,} grants were encrypted anew.")


@app.command
def replay(file: Path) -> None:
    """Apply a recorded firehose file to the index.

    Parameters
    ----------
    file
        What `fmsvc-server record` wrote.
    """
    from indexer import chores
    from readapi.progress import Progress

    settings = _begin("replay")
    with Progress("replaying", "frames") as progress:
        _or_explain(lambda: asyncio.run(chores.replay(settings, file, progress)))


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
    from indexer import chores
    from readapi.progress import Progress

    settings = _begin("record")
    with Progress("recording", "frames", total=frames) as progress:
        _or_explain(lambda: asyncio.run(chores.record(settings, file, seconds, frames, progress)))


@app.command
def rebuild() -> None:
    """Drop the search index and make it again from the catalogue. The indexer must not be running."""
    from indexer import chores
    from readapi.progress import Progress

    settings = _begin("rebuild")
    with Progress("rebuilding", "documents") as progress:
        _or_explain(lambda: chores.rebuild(settings, progress))


@app.command
def check() -> None:
    """Open all stores, print counts, cursor and lag; exit with 3 when anything is damaged."""
    from indexer import chores, printout

    settings = _begin("check")
    report = _or_explain(lambda: chores.check(settings))
    print("\n".join(printout.of_check(report)))
    if report.problems:
        sys.exit(DAMAGED)


@app.command
def audit() -> None:
    """Compare every repo with its own server now, and fetch again those that differ.

    Works while the indexer runs. Takes a minute more when something differs: the stream may be about to tell.
    """
    from indexer import chores, printout

    settings = _begin("audit")
    outcomes = _or_explain(lambda: asyncio.run(chores.audit(settings)))
    print(printout.of_audit(outcomes))


@app.command(name="dead-letters")
def dead_letters(
    *,
    did: str | None = None,
    reason: str | None = None,
    limit: Annotated[int, Parameter(validator=Number(gte=1))] = 50,
    show: str | None = None,
    replay: bool = False,
) -> None:
    """List the messages that could not be used, newest first.

    Parameters
    ----------
    did
        Only those of this account.
    reason
        Only those refused for a reason with these words in it.
    limit
        List at most so many.
    show
        Print the whole of one, by the name in the first column or its beginning.
    replay
        Take them in again, and drop those that can be used now. Works while the indexer runs.
    """
    from indexer.dead_letters import Wanted

    settings = _begin("dead-letters")
    wanted = Wanted(did, reason, show)
    if replay:
        _replay_letters(settings, wanted)
    elif show is not None:
        _show_letter(settings, show)
    else:
        _list_letters(settings, wanted, limit)


def _replay_letters(settings: Settings, wanted: "Wanted") -> None:
    from indexer import chores
    from readapi.progress import Progress

    with Progress("replaying", "dead letters") as progress:
        outcome = _or_explain(lambda: asyncio.run(chores.replay_letters(settings, wanted, progress)))
    print(f"{outcome.passed:,} of {outcome.tried:,} dead letters could be used and are none any more.")


def _show_letter(settings: Settings, name: str) -> None:
    from indexer import letters, printout

    letter = _or_explain(lambda: asyncio.run(letters.letter(settings, name)))
    if letter is None:
        _stop(UNUSABLE, f"There is no dead letter whose name begins with {name}.")
    print("\n".join(printout.of_letter(letter)))


def _list_letters(settings: Settings, wanted: "Wanted", limit: int) -> None:
    from indexer import letters, printout

    listing = _or_explain(lambda: asyncio.run(letters.listing(settings, wanted, limit)))
    print("\n".join(printout.of_listing(listing)))


@app.command
def verify(uri: str) -> None:
    """Fetch a record's proof from its own server and print each check; exit with 1 unless all hold.

    Needs no index.

    Parameters
    ----------
    uri
        The record's at-uri, by DID or handle.
    """
    from indexer import inspection

    settings = _begin("verify")

    async def show() -> list[inspection.Check]:
        checks = []
        async for check in inspection.inspect(settings, uri):
            print(f"{'ok' if check.holds else 'NO':<4}{check.name:<11}{check.told}", flush=True)
            checks.append(check)
        return checks

    checks = asyncio.run(show())
    for name in inspection.NAMES[len(checks) :]:
        print(f"{'-':<4}{name:<11}not checked")
    if len(checks) < len(inspection.NAMES) or not all(check.holds for check in checks):
        sys.exit(FAILED)


def main() -> None:
    """Entry point of `fmsvc-server`."""
    app()


@asynccontextmanager
async def open_network(settings: Settings) -> "AsyncIterator[Network]":
    """The indexer's guarded way to other people's servers, for signing in."""
    from indexer import internet
    from indexer.outbound import OutboundError
    from readapi.oauth.network import Network

    async with internet.opened(settings) as (outbound, handles, resolver):
        yield Network(outbound, resolver, handles, OutboundError)


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
    from indexer.control import Unanswered
    from indexer.sources.recorded import RecordingError

    try:
        return work()
    except StoreError as error:
        _stop(DAMAGED, str(error))
    except Unanswered as error:
        _stop(FAILED, str(error))
    except (RecordingError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        _stop(UNUSABLE, str(error))


def _with_state(work: Callable[[], Answer]) -> Answer:
    """Do the work; a state database that cannot be had, or keys that are no use, end it with a sentence."""
    from readapi.state.state import StateError

    try:
        return work()
    except StateError as error:
        _stop(FAILED, str(error))
    except SettingsError as error:
        _stop(UNUSABLE, str(error))


def _stop(code: int, sentence: str) -> NoReturn:
    print(f"fmsvc-server: {sentence}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
