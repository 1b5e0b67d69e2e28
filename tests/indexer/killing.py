"""A process that is killed at any instant of its work."""

import random
import time
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path

ENDLESS = 10**9


def killed(
    children: ForkServerContext, work: Callable[..., None], folder: Path, dice: random.Random, number: int
) -> None:
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
