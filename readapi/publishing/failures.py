"""What goes wrong with work in the background: whether to try again, and what to tell about it."""

from datetime import timedelta

from sqlalchemy.exc import SQLAlchemyError

from readapi.audio.recording import Interrupted, NotAudio
from readapi.errors import ApiError, Internal, PdsUnavailable
from schemas.errors import Code

PATIENCE = timedelta(hours=1)  # with a server that cannot be reached
COMPARING = timedelta(days=1)  # until it can be asked whether what failed was done after all
TRIES = 3  # at what fails on our side


class Overridden(Exception):
    """A track has settings of its own by now, which were to be preserved."""


def may_pass(error: Exception, tries: int, waited: timedelta) -> bool:
    """Is it worth another try? `tries`: this one included."""
    if isinstance(error, PdsUnavailable):
        return waited < PATIENCE
    return isinstance(error, OSError | SQLAlchemyError | Interrupted) and tries < TRIES


def told(error: Exception) -> tuple[Code, str]:
    """The code and the sentence for whoever asked. Of what nobody foresaw it says nothing."""
    match error:
        case ApiError():
            return error.code, _sentence(error)
        case NotAudio():
            return Code.UNSUPPORTED_MEDIA_TYPE, str(error)
        case _:
            return Internal.code, "Something went wrong on our side."


def _sentence(error: ApiError) -> str:
    """With the fields that are at fault, where single ones are."""
    faults = "; ".join(f"{fault.field}: {fault.message}" for fault in error.errors)
    return f"{error.message} {faults}." if faults else error.message
