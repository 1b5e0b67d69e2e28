"""A process that is killed at any instant of its work."""

import multiprocessing
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

ENDLESS = 10**9

# Forked of one process that has imported what most of them need: to import that takes a second of CPU time.
children: Final = multiprocessing.get_context("forkserver")
children.set_forkserver_preload(["pytest", "indexer.service", "tests.indexer.running"])


def killed(work: Callable[..., None], folder: Path, dice: random.Random, number: int) -> None:
    """Let `work(folder, how much, at_work)` begin, and kill it; every fifth dies while it starts."""
    at_work = children.Event()
    child = children.Process(target=work, args=(folder, ENDLESS, at_work))
    child.start()
    if number % 5:
        assert at_work.wait(60)
    time.sleep(dice.uniform(0, 0.3))
    child.kill()
    child.join()
    child.close()
