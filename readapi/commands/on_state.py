"""Work on the state database, whose errors end the program with a sentence."""

from collections.abc import Callable
from typing import TypeVar

from readapi.commands.start import FAILED, UNUSABLE, stop
from readapi.state.state import StateError
from schemas.settings import SettingsError

Answer = TypeVar("Answer")


def explained(work: Callable[[], Answer]) -> Answer:
    """Do the work; a state database that cannot be had, or keys that are no use, end the program."""
    try:
        return work()
    except StateError as error:
        stop(FAILED, str(error))
    except SettingsError as error:
        stop(UNUSABLE, str(error))
