"""The API's errors: raised where the cause is known, rendered here in the one error shape."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import ClassVar

import orjson

from readapi.answers import Answer
from schemas.errors import Code, ErrorBody, FieldError, Upstream


class ApiError(Exception):
    """A refusal with a code for programs and one sentence for a person."""

    status: ClassVar[HTTPStatus]
    code: ClassVar[Code]
    sentence: ClassVar[str]

    def __init__(
        self,
        message: str | None = None,
        *,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
        upstream: Upstream | None = None,
    ) -> None:
        self.message = message or self.sentence
        self.errors = errors
        self.upstream = upstream
        self.headers = headers or {}
        super().__init__(self.message)

    def answer(self) -> Answer[ErrorBody]:
        """The refusal as it is sent."""
        return refusal(self.status, self.code, self.message, self.errors, self.headers, self.upstream)


class NotAuthenticated(ApiError):
    """The request has no valid credential, or not one of the kind required here."""

    status = HTTPStatus.UNAUTHORIZED
    code = Code.NOT_AUTHENTICATED
    sentence = "Sign in first."

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message, headers={"WWW-Authenticate": "Bearer"})


class SessionExpired(NotAuthenticated):
    """The session or developer token has expired or was revoked."""

    code = Code.SESSION_EXPIRED
    sentence = "Your session has ended; sign in again."


class ScopeUpgradeRequired(ApiError):
    """The account has not granted a required scope."""

    status = HTTPStatus.FORBIDDEN
    code = Code.SCOPE_UPGRADE_REQUIRED
    sentence = "This needs a permission that you have not granted; request it at /auth/scope-upgrade/start."


class ArtistProfileRequired(ApiError):
    """Only an account with an artist profile may do this."""

    status = HTTPStatus.FORBIDDEN
    code = Code.ARTIST_PROFILE_REQUIRED
    sentence = "Create an artist profile first: PUT /artists/me."


class NotOwner(ApiError):
    """The record belongs to another account."""

    status = HTTPStatus.FORBIDDEN
    code = Code.NOT_OWNER
    sentence = "This belongs to another account."


class ForeignOrigin(ApiError):
    """Another site's page sent the request with this site's cookie."""

    status = HTTPStatus.FORBIDDEN
    code = Code.FOREIGN_ORIGIN
    sentence = "Only pages of this service may send requests with its cookie."


class SpaceRefused(ApiError):
    """A private Space refused access. That is final: nothing else is tried."""

    status = HTTPStatus.FORBIDDEN
    code = Code.SPACE_REFUSED
    sentence = "The private Space refused access."


class SupportRequired(ApiError):
    """Only for those who support the artist."""

    status = HTTPStatus.PAYMENT_REQUIRED
    code = Code.SUPPORT_REQUIRED
    sentence = "Only supporters of the artist have access."


class NotFound(ApiError):
    """It does not exist, or the viewer may not see it."""

    status = HTTPStatus.NOT_FOUND
    code = Code.NOT_FOUND
    sentence = "The resource does not exist."


class MethodNotAllowed(ApiError):
    """The address exists but does not take this method; `Allow` names those it takes."""

    status = HTTPStatus.METHOD_NOT_ALLOWED
    code = Code.METHOD_NOT_ALLOWED
    sentence = "This URL does not support this method; the Allow header lists the supported ones."


class BadRequest(ApiError):
    """The request is not well-formed HTTP."""

    status = HTTPStatus.BAD_REQUEST
    code = Code.INVALID_REQUEST
    sentence = "The request is not well-formed HTTP."


class InvalidRequest(ApiError):
    """A parameter does not fit; `errors` names each."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = Code.INVALID_REQUEST
    sentence = "A parameter is invalid; see errors."

    @classmethod
    def of_field(cls, field: str, message: str) -> "InvalidRequest":
        """The refusal of one parameter."""
        return cls(errors=[FieldError(field=field, message=message)])


class AudienceUnavailable(ApiError):
    """This service cannot verify membership in the chosen audience; the message says why."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = Code.AUDIENCE_UNAVAILABLE
    sentence = "This audience is not available here."


class PrivateAlbum(ApiError):
    """Albums have no private templates."""

    status = HTTPStatus.BAD_REQUEST
    code = Code.PRIVATE_ALBUM
    sentence = "An album cannot be private; its tracks can."


class Conflict(ApiError):
    """It conflicts with the current state."""

    status = HTTPStatus.CONFLICT
    code = Code.CONFLICT
    sentence = "The request conflicts with the current state."


class InvalidCursor(ApiError):
    """The cursor was not issued by this list."""

    status = HTTPStatus.BAD_REQUEST
    code = Code.INVALID_CURSOR
    sentence = "This cursor was not issued by this list; start again without one."


class UnsupportedMediaType(ApiError):
    """The body is of a type that this address does not read."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    code = Code.UNSUPPORTED_MEDIA_TYPE
    sentence = "This URL does not accept bodies of this type."


class TooLarge(ApiError):
    """The request is larger than this address takes."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = Code.TOO_LARGE
    sentence = "The request is too large."


class RequestTimeout(ApiError):
    """The client sends its body too slowly, or no more of it."""

    status = HTTPStatus.REQUEST_TIMEOUT
    code = Code.REQUEST_TIMEOUT
    sentence = "The request body arrived too slowly and was discarded."


class RangeNotSatisfiable(ApiError):
    """The requested range lies beyond the end."""

    status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
    code = Code.INVALID_REQUEST
    sentence = "The range lies beyond the end of the recording; Content-Range has its length."

    def __init__(self, size: int) -> None:
        super().__init__(headers={"Content-Range": f"bytes */{size}"})


class FormatNotSupported(ApiError):
    """The answer does not exist in the format asked for."""

    status = HTTPStatus.NOT_IMPLEMENTED
    code = Code.FORMAT_NOT_SUPPORTED
    sentence = "The answer is not available in this format."


class RateLimited(ApiError):
    """Too many requests from one client; `Retry-After` says how long to wait."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = Code.RATE_LIMITED
    sentence = "Too many requests; try again later."

    @classmethod
    def ending_in(cls, seconds: int) -> "RateLimited":
        """The refusal of a client whose limit has room again in so many seconds."""
        return cls(f"Too many requests; try again in {seconds} second{'' if seconds == 1 else 's'}.")


class PdsUnavailable(ApiError):
    """The account's own server could not be asked, or did not answer as it should."""

    status = HTTPStatus.BAD_GATEWAY
    code = Code.PDS_UNAVAILABLE
    sentence = "The artist's server is unavailable; try again later."


class PdsDown(PdsUnavailable):
    """A server that is needed to answer is unavailable: the request may be retried."""

    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message, headers={"Retry-After": "30"})


class PdsRefused(ApiError):
    """The account's own server refused; `upstream` holds its words."""

    status = HTTPStatus.BAD_GATEWAY
    code = Code.PDS_REFUSED
    sentence = "Your server refused the request."


class IndexNotReady(ApiError):
    """The index or its snapshot does not exist yet."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = Code.INDEX_NOT_READY
    sentence = "The index is not ready yet; try again soon."

    def __init__(self, message: str | None = None, *, retry_seconds: int = 1) -> None:
        super().__init__(message, headers={"Retry-After": str(retry_seconds)})


class StateUnavailable(ApiError):
    """The state database, which has the sessions and what accounts chose, is away."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = Code.STATE_UNAVAILABLE
    sentence = "The service cannot look up accounts at the moment; try again in a few seconds."

    def __init__(self) -> None:
        super().__init__(headers={"Retry-After": "5"})


class Internal(ApiError):
    """An internal error. Reveals nothing of its cause."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR
    code = Code.INTERNAL
    sentence = "An internal error occurred; quote the request id when you report it."


def refusal(
    status: int,
    code: Code,
    message: str,
    errors: Sequence[FieldError] = (),
    headers: Mapping[str, str] | None = None,
    upstream: Upstream | None = None,
) -> Answer[ErrorBody]:
    """The one shape: `detail`, `message`, and `errors` where single fields are at fault.

    `upstream`: the words of the account's own server, if it was the one that refused.
    """
    body: dict[str, object] = {"detail": code.value, "message": message}
    if errors:
        body["errors"] = [error.model_dump() for error in errors]
    if upstream is not None:
        body["upstream"] = upstream.model_dump()
    return Answer(orjson.dumps(body), status=status, headers=headers or {})
