"""The supervisor restarts what dies, passes damage on, and leaves nobody behind."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = """
import asyncio, sys, os
from readapi.commands import supervisor
from readapi.commands.supervisor import Program, supervise
sys.executable = {child!r}
one = Program("one", ("one",), vital={vital})
two = Program("two", ("two",), last={last})
raise SystemExit(asyncio.run(supervise([one, two])))
"""


@pytest.fixture
def child(tmp_path: Path) -> Path:
    """A stand-in for the interpreter: notes its start, then does what the file `behaviour` says."""
    script = tmp_path / "child"
    script.write_text(
        f'#!/bin/sh\necho "$3 $$" >> {tmp_path}/starts\nexec /bin/sh {tmp_path}/behaviour "$3"\n'
    )
    script.chmod(0o755)
    return script


def start(child: Path, vital: bool = True, last: bool = False) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(child=str(child), vital=vital, last=last)],
        stdin=subprocess.DEVNULL,
    )


def starts(folder: Path) -> list[str]:
    file = folder / "starts"
    return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []


def wait_until(question: Callable[[], bool], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not question():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)


def test_a_program_that_dies_is_started_again(tmp_path: Path, child: Path) -> None:
    """The one that dies is restarted; the other is left alone."""
    (tmp_path / "behaviour").write_text('[ "$1" = one ] && exit 1\nexec sleep 60\n')

    supervisor = start(child)
    wait_until(lambda: starts(tmp_path).count("one") >= 2)
    supervisor.send_signal(signal.SIGTERM)

    assert supervisor.wait(10) == 0
    assert starts(tmp_path).count("two") == 1


def test_damage_stops_the_whole_service(tmp_path: Path, child: Path) -> None:
    """A store that wants a person's attention is not restarted over and over."""
    (tmp_path / "behaviour").write_text('[ "$1" = one ] && exit 3\nexec sleep 60\n')

    supervisor = start(child)

    assert supervisor.wait(10) == 3
    assert starts(tmp_path).count("one") == 1


def test_damage_to_the_index_leaves_the_api_alone(tmp_path: Path, child: Path) -> None:
    """It serves what is indexed; the indexer is tried again, as a disk may have room later."""
    (tmp_path / "behaviour").write_text('[ "$1" = one ] && exit 3\nexec sleep 60\n')

    supervisor = start(child, vital=False)
    wait_until(lambda: starts(tmp_path).count("one") >= 2)
    supervisor.send_signal(signal.SIGTERM)

    assert supervisor.wait(10) in (0, 3)
    assert starts(tmp_path).count("two") == 1


def test_a_program_that_answers_the_others_is_stopped_after_them(tmp_path: Path, child: Path) -> None:
    """What they finish may need it; it is stopped then, and not killed."""
    (tmp_path / "behaviour").write_text(
        f"""[ "$1" = one ] && trap 'sleep 0.5; echo one >> {tmp_path}/ends; exit 0' TERM
[ "$1" = two ] && trap 'echo two >> {tmp_path}/ends; exit 0' TERM
echo "$1" >> {tmp_path}/ready
while :; do sleep 0.05; done
"""
    )

    supervisor = start(child, last=True)
    wait_until(lambda: (tmp_path / "ready").exists() and len((tmp_path / "ready").read_text().split()) == 2)
    supervisor.send_signal(signal.SIGTERM)

    assert supervisor.wait(10) == 0
    assert (tmp_path / "ends").read_text().split() == ["one", "two"]


@pytest.mark.slow
def test_a_program_that_does_not_stop_is_killed(tmp_path: Path, child: Path) -> None:
    """SIGTERM is obeyed within the seconds that a service manager grants."""
    (tmp_path / "behaviour").write_text("trap '' TERM\nwhile :; do sleep 1; done\n")

    supervisor = start(child)
    wait_until(lambda: len(starts(tmp_path)) == 2)
    supervisor.send_signal(signal.SIGTERM)

    assert supervisor.wait(10) == 0


async def test_a_child_ends_when_its_supervisor_is_killed() -> None:
    """Nobody is left holding the catalogue's lock or the port."""
    lifeline, ours = os.pipe()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import time; from readapi.parent_watch import follow_parent; follow_parent(); time.sleep(60)",
        stdin=lifeline,
    )
    os.close(lifeline)

    os.close(ours)

    assert await asyncio.wait_for(process.wait(), 10) == -signal.SIGTERM
