"""The exit codes of every command."""

from fmsvc.errors import ConfigurationError, FmsvcError, MissingFileError, ProofError, UnreachableError

OK = 0
FAILED = 1
USAGE = 2
NOT_SIGNED_IN = 3
NOT_FOUND = 4
FORBIDDEN = 5
RATE_LIMITED = 6
UNAVAILABLE = 7
UNPROVEN = 8
INTERRUPTED = 130

MEANINGS = {
    OK: "done",
    FAILED: "failed",
    USAGE: "wrong arguments, or no address of a service",
    NOT_SIGNED_IN: "not signed in, or the session has ended",
    NOT_FOUND: "not found",
    FORBIDDEN: "not allowed",
    RATE_LIMITED: "too many requests",
    UNAVAILABLE: "the service cannot be reached, or cannot answer now",
    UNPROVEN: "a record or a downloaded file is not what its proof or hash says",
    INTERRUPTED: "interrupted",
}

_BY_STATUS = {401: NOT_SIGNED_IN, 403: FORBIDDEN, 404: NOT_FOUND, 429: RATE_LIMITED}


def find_exit_code(error: FmsvcError) -> int:
    """The exit code for an error."""
    if error.code == "usage" or isinstance(error, (ConfigurationError, MissingFileError)):
        return USAGE
    if isinstance(error, UnreachableError) or (error.status or 0) >= 500:
        return UNAVAILABLE
    if isinstance(error, ProofError):
        return UNPROVEN
    return _BY_STATUS.get(error.status or 0, FAILED)
