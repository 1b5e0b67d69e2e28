"""Supervises the service's processes: starts them, restarts those that exit, stops them all."""

import asyncio
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from schemas import stop_signals

log = structlog.get_logger()

DAMAGED = 3  # exit code of a process whose store is damaged, which a restart does not fix
STOP_SECONDS = 4.5
STEADY_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Program:
    """One process to keep running: a name for the log and the command line's arguments.

    Without a `vital` one there is no service: damage to its store ends the others too. A `last` one answers
    the others, and is stopped when they have ended; damage to its store ends nothing.
    """

    name: str
    arguments: tuple[str, ...]
    vital: bool = True
    last: bool = False


async def supervise(programs: Sequence[Program]) -> int:
    """Run all programs until SIGTERM or SIGINT, or until a vital one exits with DAMAGED.

    Returns DAMAGED if any program's last exit had that code, else 0.
    """
    stop, stop_last = stop_signals.stop_event(), asyncio.Event()
    last = asyncio.gather(*(_keep_running(program, stop_last) for program in programs if program.last))
    codes = await asyncio.gather(*(_keep_running(program, stop) for program in programs if not program.last))
    stop_last.set()
    return DAMAGED if DAMAGED in (*codes, *await last) else 0


async def _keep_running(program: Program, stop: asyncio.Event) -> int:
    pause = 0.5
    while True:
        started = time.monotonic()
        code = await _run_once(program, stop)
        if stop.is_set():
            return code
        if code == DAMAGED and program.vital:
            stop.set()
            return code
        pause = 0.5 if time.monotonic() - started > STEADY_SECONDS else min(pause * 2, LONGEST_PAUSE_SECONDS)
        wait = pause * random.uniform(0.5, 1.0)  # noqa: S311  # jitter, not a secret
        log.warning("program died", name=program.name, exit_code=code, restart_in=round(wait, 1))
        try:
            async with asyncio.timeout(wait):
                await stop.wait()
        except TimeoutError:
            continue
        return code


async def _run_once(program: Program, stop: asyncio.Event) -> int:
    """Run a program until it exits. On `stop` it gets STOP_SECONDS to finish, then it is killed."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "readapi", *program.arguments, "--supervised", stdin=asyncio.subprocess.PIPE
    )
    log.info("program started", name=program.name, pid=child.pid)
    ended, stopping = asyncio.ensure_future(child.wait()), asyncio.ensure_future(stop.wait())
    await asyncio.wait((ended, stopping), return_when=asyncio.FIRST_COMPLETED)
    if not ended.done():
        child.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await asyncio.shield(ended)
        except TimeoutError:
            log.warning("program killed", name=program.name, reason=f"still running after {STOP_SECONDS} s")
            child.kill()
    stopping.cancel()
    return await ended
