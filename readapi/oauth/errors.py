"""Why signing in, refreshing or calling went no further."""

from typing import Literal

Kind = Literal[
    "access_denied",
    "identity_not_found",
    "identity_mismatch",
    "callback_mismatch",
    "server_unsuitable",
    "server_unavailable",
    "server_refused",
    "client_refused",
    "invalid_grant",
]


class OAuthError(Exception):
    """`sentence` is for a person, `kind` for a program; only the log is told what a server said."""

    def __init__(self, kind: Kind, sentence: str, said: str = "") -> None:
        super().__init__(f"{sentence} {said}".rstrip())
        self.kind = kind
        self.sentence = sentence


class Denied(OAuthError):
    """The person said no."""

    def __init__(self) -> None:
        super().__init__("access_denied", "Access was denied on your server.")


class Refused(OAuthError):
    """It cannot be, and trying again changes nothing. Of a refresh: the grant is dead."""


class Unavailable(OAuthError):
    """A server could not be asked, or made no sense; later it may."""

    def __init__(self, sentence: str, said: str = "") -> None:
        super().__init__("server_unavailable", sentence, said)
