"""What goes wrong with work in the background: whether to try again, and what to tell about it."""

from datetime import timedelta

from sqlalchemy.exc import SQLAlchemyError

from readapi.audio.recording import Interrupted, NotAudio
from readapi.errors import ApiError, Internal, PdsUnavailable
from readapi.publishing.lanes import Displaced
from readapi.state.claims import Attempt
from schemas.errors import Code

PATIENCE = timedelta(hours=1)  # with a server that cannot be reached
COMPARING = timedelta(days=1)  # until it can be asked whether what failed was done after all
SOON, LATEST = timedelta(seconds=5), timedelta(minutes=5)


class Overridden(Exception):
    """A track has settings of its own by now, which were to be preserved."""


class GivenUp(Exception):
    """Too many tries ended without an answer, with the process that was at it."""


def may_pass(error: Exception, attempt: Attempt, waited: timedelta, most_tries: int) -> bool:
    """Is it worth another try? `waited`: since the first."""
    if isinstance(error, PdsUnavailable):
        return waited < PATIENCE
    return isinstance(error, OSError | SQLAlchemyError | Interrupted) and attempt.number < most_tries


def is_ours(error: BaseException) -> bool:
    """Does it count as a try? Servers that cannot be reached are given time, and what was displaced is not
    at fault."""
    return not isinstance(error, PdsUnavailable | Displaced)


def later(waited: timedelta) -> timedelta:
    """After which pause to try again: ever longer ones."""
    return min(max(SOON, waited / 2), LATEST)


def told(error: Exception) -> tuple[Code, str]:
    """The code and the sentence for whoever asked. Of what nobody foresaw it says nothing."""
    match error:
        case ApiError():
            return error.code, _sentence(error)
        case NotAudio():
            return Code.UNSUPPORTED_MEDIA_TYPE, str(error)
        case TimeoutError():
            return Internal.code, "It took longer than it may, again and again."
        case GivenUp():
            return Internal.code, "Every try broke off in the middle, so it was given up."
        case _:
            return Internal.code, "Something went wrong on our side."


def _sentence(error: ApiError) -> str:
    """With the fields that are at fault, where single ones are."""
    faults = "; ".join(f"{fault.field}: {fault.message}" for fault in error.errors)
    return f"{error.message} {faults}." if faults else error.message
