"""Work on the index, whose errors end the program with a sentence."""

from collections.abc import Callable
from typing import TypeVar

from indexer.catalogue import StoreError
from indexer.control import Unanswered
from indexer.sources.recorded import RecordingError
from readapi.commands.start import FAILED, UNUSABLE, stop
from readapi.supervisor import DAMAGED

Answer = TypeVar("Answer")


def explained(work: Callable[[], Answer]) -> Answer:
    """Do the work; damage to our own store, or a file that is no use, ends the program."""
    try:
        return work()
    except StoreError as error:
        stop(DAMAGED, str(error))
    except Unanswered as error:
        stop(FAILED, str(error))
    except (RecordingError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        stop(UNUSABLE, str(error))
