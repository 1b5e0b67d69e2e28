"""`record` and `replay`: the firehose in a file."""

import asyncio
from pathlib import Path

from indexer import operations
from readapi.commands.index_errors import explained
from readapi.commands.progress import Progress
from readapi.commands.start import begin


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
        explained(lambda: asyncio.run(operations.record_stream(settings, file, seconds, frames, progress)))


def replay(file: Path) -> None:
    """Apply a recorded firehose file to the index.

    Parameters
    ----------
    file
        What `fmsvc-server record` wrote.
    """
    settings = begin("replay")
    with Progress("replaying", "frames") as progress:
        explained(lambda: asyncio.run(operations.replay_recording(settings, file, progress)))
