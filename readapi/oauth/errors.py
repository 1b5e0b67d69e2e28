"""Why signing in, refreshing or calling went no further."""

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
    """`sentence` is for a person, `kind` for a program; `said` is for the log.

    `upstream`: the words in which a server refused.
    """

    def __init__(self, kind: Kind, sentence: str, said: str = "", upstream: Upstream | None = None) -> None:
        super().__init__(f"{sentence} {said}".rstrip())
        self.kind = kind
        self.sentence = sentence
        self.upstream = upstream


class Denied(OAuthError):
    """The person said no."""

    def __init__(self) -> None:
        super().__init__("access_denied", "Access was denied on your server.")


class Refused(OAuthError):
    """It cannot be, and trying again changes nothing. Of a refresh: the grant is dead."""


class Unavailable(OAuthError):
    """A server could not be asked, or made no sense; later it may.

    `status`: of its answer, if any. `unasked`: it was not even asked, because too much is under way here.
    """

    def __init__(
        self, sentence: str, said: str = "", status: int | None = None, *, unasked: bool = False
    ) -> None:
        super().__init__("server_unavailable", sentence, said)
        self.status = status
        self.unasked = unasked


def told(error: str, description: str) -> Upstream:
    """A server's own words, cut short; it could repeat what we sent, and no token belongs anywhere."""
    return Upstream(error=_harmless(error), message=_harmless(description))


def _harmless(words: str) -> str:
    short = _SECRET.sub("…", words)[:SAID_CHARACTERS]
    return "".join(letter if letter.isprintable() else " " for letter in short)
