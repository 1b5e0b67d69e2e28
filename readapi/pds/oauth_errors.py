"""OAuth failures translated to errors of the API."""

from collections.abc import Iterator
from contextlib import contextmanager

from readapi.errors import ApiError, InvalidRequest, NotAuthenticated, NotFound, PdsDown, PdsRefused
from readapi.oauth.errors import OAuthError
from schemas.errors import FieldError

TO_START = (InvalidRequest, NotFound, PdsDown, PdsRefused)  # all that `start_refusal` returns


@contextmanager
def translate_start() -> Iterator[None]:
    """Translate failures of beginning an authorization within the block, by `start_refusal`."""
    try:
        yield
    except OAuthError as error:
        raise start_refusal(error) from error


def start_refusal(error: OAuthError) -> ApiError:
    """The refusal when an authorization could not begin: mostly the handle or DID was wrong."""
    match error.kind:
        case "account_not_found":
            return NotFound(error.sentence)
        case "identity_not_found" | "identity_mismatch":
            return InvalidRequest(error.sentence, errors=[FieldError(field="handle", message=error.sentence)])
        case "server_unavailable":
            return PdsDown(error.sentence)
        case _:
            return PdsRefused(error.sentence, upstream=error.upstream)


def callback_refusal(error: OAuthError) -> ApiError:
    """The refusal when the callback brought an error instead of a grant."""
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
