"""Failures of authorization, refresh and requests to an account's server."""

import re
from typing import Literal

from schemas.errors import Upstream

Kind = Literal[
    "access_denied",
    "identity_not_found",
    "account_not_found",
    "identity_mismatch",
    "callback_mismatch",
    "server_unsuitable",
    "server_unavailable",
    "server_refused",
    "client_refused",
    "invalid_grant",
]


SAID_CHARACTERS = 300
_SECRET = re.compile(r"[A-Za-z0-9._~+=-]{32,}")


class OAuthError(Exception):
    """`sentence` is for the user, `kind` for programs, `said` (the server's words) for the log.

    `upstream`: the refusal in the server's words.
    """

    def __init__(self, kind: Kind, sentence: str, said: str = "", upstream: Upstream | None = None) -> None:
        super().__init__(f"{sentence} {said}".rstrip())
        self.kind = kind
        self.sentence = sentence
        self.upstream = upstream


class Denied(OAuthError):
    """The user denied the authorization."""

    def __init__(self) -> None:
        super().__init__("access_denied", "Access was denied on your server.")


class OAuthRefused(OAuthError):
    """A final refusal: a retry would not help. Of a refresh: the grant is dead."""


class Unavailable(OAuthError):
    """A server could not be reached, or sent a malformed answer: retry later.

    `status`: of its answer, if any. `unasked`: no request was sent, because too many are in flight here.
    """

    def __init__(
        self, sentence: str, said: str = "", status: int | None = None, *, unasked: bool = False
    ) -> None:
        super().__init__("server_unavailable", sentence, said)
        self.status = status
        self.unasked = unasked


def quote_upstream(error: str, description: str) -> Upstream:
    """A server's error, cut short and stripped of tokens, which a server might echo."""
    return Upstream(error=_harmless(error), message=_harmless(description))


def _harmless(words: str) -> str:
    short = _SECRET.sub("…", words)[:SAID_CHARACTERS]
    return "".join(letter if letter.isprintable() else " " for letter in short)
