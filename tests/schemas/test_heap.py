"""What is free belongs to the system."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from schemas import heap
from schemas.settings import Settings
from tests.bench.machine import Memory
from tests.indexer.running import running, until
from tests.network.forged_network import ForgedNetwork
from tests.network.relay import Relay

# Threads that live on, each of which takes ten megabytes in its turn and keeps the last kilobyte of it.
IN_TURN = """
import os, sys, threading
from schemas import heap
from tests.bench.machine import Memory

if sys.argv[1] == "bound":
    heap.bound()
before, kept, end = Memory.of(os.getpid()).private, [], threading.Event()

def work(done):
    pieces = [b"x" * (64_000 + number) for number in range(160)]
    kept.append(bytes(1000))
    del pieces
    done.set()
    end.wait()

for _ in range(16):
    threading.Thread(target=work, args=[done := threading.Event()]).start()
    done.wait()
print(Memory.of(os.getpid()).private - before)
end.set()
"""

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc holds what is free")


def scattered() -> list[bytes | None]:
    """A hundred megabytes that are free but for one piece in a thousand, as after a burst."""
    kept: list[bytes | None] = [bytes(1000) for _ in range(100_000)]
    for number in range(len(kept)):
        if number % 1000 != 999:
            kept[number] = None
    return kept


def private() -> float:
    return Memory.of(os.getpid()).private


def test_what_lies_free_between_what_is_used_is_given_back() -> None:
    """As in a cache of answers that was emptied while others had been kept."""
    kept = scattered()
    before = private()

    heap.give_back()

    assert before - private() > 50
    assert len(kept) == 100_000


def test_threads_use_what_others_freed() -> None:
    """Otherwise each of the indexer's holds a burst's memory of its own."""
    held = {}
    for how in ("bound", "as it is"):
        command = [sys.executable, "-c", IN_TURN, how]
        held[how] = float(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)

    assert held["bound"] < 50 < held["as it is"], held


async def test_the_indexer_gives_back_what_is_free(tmp_path: Path) -> None:
    """Again and again, while it runs."""
    async with Relay() as relay, ForgedNetwork() as server:
        settings = Settings(
            data_dir=tmp_path,
            relay=relay.url,
            plc_url=server.url,
            handle_resolver=server.url,
            allow_loopback=True,
        )
        async with running(settings, give_back_seconds=0.2):
            kept = scattered()
            before = private()

            await until(lambda: before - private() > 50)

    assert len(kept) == 100_000
