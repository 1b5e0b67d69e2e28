"""The shape of every error body, and the closed list of codes in `detail`."""

from enum import StrEnum

from pydantic import BaseModel


class Code(StrEnum):
    """All values of `detail`. Clients may rely on these; the messages beside them may change."""

    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    INVALID_REQUEST = "invalid_request"
    INVALID_CURSOR = "invalid_cursor"
    NOT_AUTHENTICATED = "not_authenticated"
    SESSION_EXPIRED = "session_expired"
    SCOPE_UPGRADE_REQUIRED = "scope_upgrade_required"
    ARTIST_PROFILE_REQUIRED = "artist_profile_required"
    NOT_OWNER = "not_owner"
    FOREIGN_ORIGIN = "foreign_origin"
    AUDIENCE_UNAVAILABLE = "audience_unavailable"
    PRIVATE_ALBUM = "private_album"
    SPACE_REFUSED = "space_refused"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    TOO_LARGE = "too_large"
    REQUEST_TIMEOUT = "request_timeout"
    CONFLICT = "conflict"
    SUPPORT_REQUIRED = "support_required"
    PDS_UNAVAILABLE = "pds_unavailable"
    PDS_REFUSED = "pds_refused"
    FORMAT_NOT_SUPPORTED = "format_not_supported"
    RATE_LIMITED = "rate_limited"
    INDEX_NOT_READY = "index_not_ready"
    STATE_UNAVAILABLE = "state_unavailable"
    INTERNAL = "internal"


class FieldError(BaseModel):
    """A field of a request, and what is wrong with it."""

    field: str
    message: str


class Upstream(BaseModel):
    """The refusal of an account's own server, in that server's words."""

    error: str
    message: str


class ErrorBody(BaseModel):
    """The body of every error: a code for programs and a sentence for people."""

    detail: Code
    message: str
    errors: list[FieldError] | None = None
    upstream: Upstream | None = None
