"""Exceptions of the client: what the service refused, or why it could not be asked."""

import re


class FmsvcError(Exception):
    """`message` is a sentence. `status` and `code` are those of the answer, None when there was none.

    `retry_after`: the seconds that the service asks to wait.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retry_after = retry_after


class ConfigurationError(FmsvcError, ValueError):
    """The address of the service or a token is missing, or an argument is unusable."""


class UnreachableError(FmsvcError):
    """No complete answer came: the connection failed, broke off or timed out."""


class AnswerError(FmsvcError, ValueError):
    """The answer is not what the service's description promises: type, size, JSON or fields."""


class RefusedError(FmsvcError):
    """The service refused the request."""


class NotFoundError(RefusedError):
    """404."""


class NotAuthenticatedError(RefusedError):
    """401: no token, or one that ended."""


class PermissionDeniedError(RefusedError):
    """403."""


class SetupRequiredError(PermissionDeniedError, ValueError):
    """403: the token lacks a scope, or the account has no artist profile."""


class RateLimitedError(RefusedError):
    """429, after the retries."""


class UnavailableError(RefusedError):
    """503, after the retries."""


class PublishingError(FmsvcError, ValueError):
    """An upload or a publishing job failed, or did not end in time. `code` is the reason that it gives."""


class MissingFileError(FmsvcError, FileNotFoundError):
    """A file to upload does not exist."""


class ProofError(FmsvcError, ValueError):
    """A proof or a downloaded file does not match what it should prove or be."""


_BY_STATUS: dict[int, type[RefusedError]] = {
    401: NotAuthenticatedError,
    403: PermissionDeniedError,
    404: NotFoundError,
    429: RateLimitedError,
    503: UnavailableError,
}
_SETUP = ("scope_upgrade_required", "artist_profile_required")


def make_refusal(
    status: int, body: object, request_id: str | None, retry_after: str | None = None
) -> RefusedError:
    """The exception for a refusal's status and JSON body, which may be anything.

    The message names the fields that are wrong. `retry_after`: the header, which may be a date.
    """
    found = body if isinstance(body, dict) else {}
    code = found.get("detail") if isinstance(found.get("detail"), str) else None
    said = found.get("message")
    message = said if isinstance(said, str) and said else f"The service answered with status {status}."
    kind = SetupRequiredError if code in _SETUP else _BY_STATUS.get(status, RefusedError)
    return kind(
        " ".join([message.replace("; see errors.", "."), *_faults(found.get("errors"), message)])[:2000],
        status=status,
        code=code,
        request_id=request_id,
        retry_after=int(retry_after) if retry_after and re.fullmatch("[0-9]{1,6}", retry_after) else None,
    )


def _faults(errors: object, message: str) -> list[str]:
    """Fields that the service found wrong, each with the reason, unless that is the message itself."""
    named = [one for one in errors if isinstance(one, dict)] if isinstance(errors, list) else []
    return [
        f"{one.get('field')}: {one.get('message')}" for one in named[:20] if one.get("message") != message
    ]
