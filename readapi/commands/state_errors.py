"""Turns errors of the state database into a message and an exit code, for commands."""

import errno
from collections.abc import Callable
from typing import TypeVar

from readapi.commands.start import FAILED, UNUSABLE, stop
from readapi.state.state import StateError
from schemas.settings import SettingsError

Answer = TypeVar("Answer")

_RIGHTS = "correct its permissions, or set FMSVC_DATA_DIR"
_REFUSALS = {
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EROFS: "make its disk writable, or set FMSVC_DATA_DIR",
    errno.ENOTDIR: "set FMSVC_DATA_DIR to a folder",
    errno.ENOSPC: "free some room there",
}


def explained(work: Callable[[], Answer]) -> Answer:
    """Run `work`; exits with a message if the state database cannot be used or its keys are invalid."""
    try:
        return work()
    except StateError as error:
        stop(FAILED, str(error))
    except SettingsError as error:
        stop(UNUSABLE, str(error))
    except OSError as error:
        if error.filename is None or error.errno not in _REFUSALS:
            raise
        sentence = f"{error.filename} cannot be written ({error.strerror}); {_REFUSALS[error.errno]}."
        stop(FAILED, sentence)
