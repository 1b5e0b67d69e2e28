"""Sign-ins that a program on the person's own machine begins (RFC 8252), bound to it by PKCE (RFC 7636)."""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from yarl import URL

CHALLENGE, REDIRECT, STATE = "challenge", "redirect", "state"  # details of a purpose

# Numbers only: `localhost` may resolve to another machine (RFC 8252, section 8.3).
_LOOPBACK = re.compile(r"http://(?:127\.0\.0\.1|\[::1\]):([1-9][0-9]{0,4})(?:/[A-Za-z0-9._~/-]{0,200})?")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")  # 32 bytes in base64url
_STATE = re.compile(r"[\x21-\x7e]{1,200}")
_METHOD = "S256"


class UnusableParameter(Exception):
    """A parameter of the request that does not fit; `field` names it, the message is a sentence."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True, slots=True)
class NativeClient:
    """What a program sent to begin: its challenge, and where its listener takes the code, if it has one."""

    challenge: str
    redirect_uri: str | None = None
    state: str | None = None

    @classmethod
    def check(
        cls, redirect_uri: str | None, state: str | None, challenge: str | None, method: str | None
    ) -> Self | None:
        """Check a request's parameters; None when it has none of them. Raises UnusableParameter."""
        if redirect_uri is None and challenge is None and method is None and state is None:
            return None
        if redirect_uri is not None and not _is_loopback(redirect_uri):
            sentence = "redirect_uri must be http://127.0.0.1:PORT/… or http://[::1]:PORT/…, without a query."
            raise UnusableParameter("redirect_uri", sentence)
        if challenge is None or _CHALLENGE.fullmatch(challenge) is None:
            sentence = "code_challenge must be the SHA-256 of the code verifier in base64url: 43 characters."
            raise UnusableParameter("code_challenge", sentence)
        if method != _METHOD:  # RFC 7636 takes an absent method for `plain`
            raise UnusableParameter("code_challenge_method", "code_challenge_method must be S256.")
        if state is not None and _STATE.fullmatch(state) is None:
            sentence = "state must be 1 to 200 printable ASCII characters without spaces."
            raise UnusableParameter("state", sentence)
        return cls(challenge, redirect_uri, state)

    @classmethod
    def read(cls, details: Mapping[str, str | int]) -> Self | None:
        """The client in the details of a purpose; None when no such program began it."""
        if (challenge := _text(details, CHALLENGE)) is None:
            return None
        return cls(challenge, _text(details, REDIRECT), _text(details, STATE))

    def details(self) -> dict[str, str | int]:
        """The same as details of a purpose."""
        found = {CHALLENGE: self.challenge, REDIRECT: self.redirect_uri, STATE: self.state}
        return {name: value for name, value in found.items() if value is not None}

    def return_address(self, **answer: str) -> str | None:
        """The listener's URL with `answer` and the client's state; None when it has no listener."""
        if self.redirect_uri is None:
            return None
        echoed = {} if self.state is None else {"state": self.state}
        return str(URL(self.redirect_uri).with_query({**answer, **echoed}))

    def accepts(self, verifier: str | None) -> bool:
        """Is this the verifier of the challenge?"""
        digest = hashlib.sha256((verifier or "").encode()).digest()
        proven = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return verifier is not None and hmac.compare_digest(proven, self.challenge)


def _is_loopback(address: str) -> bool:
    match = _LOOPBACK.fullmatch(address)
    return match is not None and int(match[1]) < 1 << 16


def _text(details: Mapping[str, str | int], name: str) -> str | None:
    value = details.get(name)
    return None if value is None else str(value)
