"""Turns errors of the index into a message and an exit code, for commands."""

from collections.abc import Callable
from typing import TypeVar

from indexer.faults import StoreError
from indexer.stream.recording import RecordingError
from readapi.commands.start import FAILED, UNUSABLE, stop
from readapi.commands.supervisor import DAMAGED
from schemas.control_socket import Unanswered

Answer = TypeVar("Answer")


def explained(work: Callable[[], Answer]) -> Answer:
    """Run `work`; exits with a message if our own store is damaged or a given file cannot be used."""
    try:
        return work()
    except StoreError as error:
        stop(DAMAGED, str(error))
    except Unanswered as error:
        stop(FAILED, str(error))
    except (RecordingError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        stop(UNUSABLE, str(error))
