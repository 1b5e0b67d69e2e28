"""What authorization servers refuse, in the words of our own errors."""

from collections.abc import Iterator
from contextlib import contextmanager

from readapi.errors import ApiError, InvalidRequest, NotAuthenticated, NotFound, PdsDown, PdsRefused
from readapi.oauth.errors import OAuthError
from schemas.errors import FieldError

TO_START = (InvalidRequest, NotFound, PdsDown, PdsRefused)  # all that `of_start` gives


@contextmanager
def starting() -> Iterator[None]:
    """Around whatever leads somebody to their server: raises what `of_start` makes of a failure."""
    try:
        yield
    except OAuthError as error:
        raise of_start(error) from error


def of_start(error: OAuthError) -> ApiError:
    """When somebody could not be led to their server: mostly it was the name."""
    match error.kind:
        case "account_not_found":
            return NotFound(error.sentence)
        case "identity_not_found" | "identity_mismatch":
            return InvalidRequest(error.sentence, errors=[FieldError(field="handle", message=error.sentence)])
        case "server_unavailable":
            return PdsDown(error.sentence)
        case _:
            return PdsRefused(error.sentence, upstream=error.upstream)


def of_callback(error: OAuthError) -> ApiError:
    """When somebody came back without what they left for."""
    match error.kind:
        case "callback_mismatch":
            return InvalidRequest(error.sentence, errors=[FieldError(field="state", message=error.sentence)])
        case "server_unavailable":
            return PdsDown(error.sentence)
        case (
            "access_denied"
            | "identity_mismatch"
            | "identity_not_found"
            | "account_not_found"
            | "invalid_grant"
        ):
            return NotAuthenticated(error.sentence)
        case "server_unsuitable" | "server_refused" | "client_refused":
            return PdsRefused(error.sentence, upstream=error.upstream)
