"""Errors of background jobs: which are retried, after which delay, and what the user reads about them."""

from datetime import timedelta

from sqlalchemy.exc import SQLAlchemyError

from readapi.audio.decoding.formats import Interrupted, NotAudio
from readapi.errors import ApiError, Internal, PdsUnavailable
from readapi.publishing.slots import Displaced
from readapi.state.db.claims import Attempt
from schemas.errors import Code

PATIENCE = timedelta(hours=1)  # with a server that cannot be reached
COMPARING = timedelta(days=1)  # with a server that must be asked whether a failed job was done after all
SOON, LATEST = timedelta(seconds=5), timedelta(minutes=5)


class Overridden(Exception):
    """The track has got settings of its own meanwhile, which the job preserves."""


class GivenUp(Exception):
    """Too many attempts ended with a crash of their worker process."""


def may_pass(error: Exception, attempt: Attempt, waited: timedelta, most_tries: int) -> bool:
    """Whether the error is transient, so that the job is retried. `waited`: since the first attempt."""
    if isinstance(error, PdsUnavailable):
        return waited < PATIENCE
    return isinstance(error, OSError | SQLAlchemyError | Interrupted) and attempt.number < most_tries


def is_ours(error: BaseException) -> bool:
    """Whether the error counts as an attempt: unreachable servers and displaced jobs do not."""
    return not isinstance(error, PdsUnavailable | Displaced)


def next_pause(waited: timedelta) -> timedelta:
    """The pause before the next attempt, which grows with the time since the first."""
    return min(max(SOON, waited / 2), LATEST)


def describe_error(error: Exception) -> tuple[Code, str]:
    """The error code and message for the user. Unexpected errors get a message without details."""
    match error:
        case ApiError():
            return error.code, _sentence(error)
        case NotAudio():
            return Code.UNSUPPORTED_MEDIA_TYPE, str(error)
        case TimeoutError():
            return Internal.code, "It exceeded the time limit repeatedly."
        case GivenUp():
            return Internal.code, "Every attempt was interrupted, so this was given up."
        case _:
            return Internal.code, "An internal error occurred."


def _sentence(error: ApiError) -> str:
    """The error's message, followed by the invalid fields, if any."""
    faults = "; ".join(f"{fault.field}: {fault.message}" for fault in error.errors)
    return f"{error.message} {faults}." if faults else error.message
