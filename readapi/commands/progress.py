"""Progress of long operations: a bar on a terminal, otherwise a plain line every few seconds."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """`with Progress("replaying", unit="frames", total=n) as progress: progress(done)`."""

    def __init__(self, what: str, unit: str, total: int | None = None) -> None:
        self._what, self._unit, self._total = what, unit, total
        self._done = 0
        self._said_at = time.monotonic()
        console = Console(stderr=True)
        self._bar = _bar(console) if console.is_terminal else None
        self._task = self._bar.add_task(what, total=total) if self._bar else None

    def __call__(self, done: int, total: int | None = None) -> None:
        """Report how many units are done, and their total if it was not known before."""
        self._done, self._total = done, total if total is not None else self._total
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=self._total)
        elif time.monotonic() - self._said_at >= SECONDS_BETWEEN_LINES:
            self._say()

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        else:
            self._say()

    def _say(self) -> None:
        self._said_at = time.monotonic()
        of = f" of {self._total:,}" if self._total is not None else ""
        print(f"{self._what}: {self._done:,}{of} {self._unit}", file=sys.stderr, flush=True)


def _bar(console: Console) -> Bar:
    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )
