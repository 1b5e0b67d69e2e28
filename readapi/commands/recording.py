"""`record` and `replay`: the firehose in a file."""

import asyncio
from pathlib import Path

from indexer import chores
from readapi.commands.on_index import explained
from readapi.commands.start import begin
from readapi.progress import Progress


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
    settings = begin("record")
    with Progress("recording", "frames", total=frames) as progress:
        explained(lambda: asyncio.run(chores.record(settings, file, seconds, frames, progress)))


def replay(file: Path) -> None:
    """Apply a recorded firehose file to the index.

    Parameters
    ----------
    file
        What `fmsvc-server record` wrote.
    """
    settings = begin("replay")
    with Progress("replaying", "frames") as progress:
        explained(lambda: asyncio.run(chores.replay(settings, file, progress)))
