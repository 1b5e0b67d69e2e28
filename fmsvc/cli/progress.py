"""Progress bars on stderr, where it is a terminal."""

import sys
from typing import TYPE_CHECKING, Self

from fmsvc.cli.output import safe

if TYPE_CHECKING:
    from fmsvc.files import OnProgress


class Bars:
    """A bar for each transfer, within the block."""

    def __init__(self, wanted: bool) -> None:
        self._progress = None
        if wanted and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

            self._progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                DownloadColumn(),
                TransferSpeedColumn(),
                console=Console(stderr=True),
            )

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def add(self, name: str) -> "OnProgress | None":
        """Show one more; what is to be told of its progress. None: nothing is shown."""
        if self._progress is None:
            return None
        progress = self._progress
        task = progress.add_task(safe(name), total=None)
        return lambda done, total: progress.update(task, completed=done, total=total or None)
