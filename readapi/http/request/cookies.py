"""The cookies that browsers hold: the session's, and the proof of a sign-in under way in this browser."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from aiohttp import web

from readapi.state.db.one_time import new_secret
from readapi.state.sign_in import authorization_requests, exchange_tokens, sessions
from schemas.settings import Settings

SESSION = "session_id"
LEAVING = "leaving"
_AWAY = (
    authorization_requests.LIFE + exchange_tokens.LIFE
)  # the longest a sign-in may take: to the authorization server and back, then the exchange


def _values_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|;)[ \t]*{name}=([^;]*)")


_SESSION = _values_of(SESSION)
_SECRET = re.compile(r"[\w-]+")


class Ambiguous(ValueError):
    """A cookie came with several values, so at least one of them is not ours."""


def read_cookies(request: web.Request) -> str:
    """All cookies of a request, joined: HTTP/2 proxies may leave them in several headers."""
    return "; ".join(request.headers.getall("Cookie", ()))


def read_session_id(header: str) -> str | None:
    """The session id in a Cookie header. Raises Ambiguous.

    Any host beside this one may set a cookie of this name for their common domain, and its path decides which
    comes first (RFC 6265, sections 5.4 and 8.6): neither place tells which is ours.
    """
    return _single_value(_SESSION, header)


def _single_value(values: re.Pattern[str], header: str) -> str | None:
    found = {value.strip() for value in values.findall(header)}
    if len(found) > 1:
        raise Ambiguous
    value = found.pop() if found else ""
    return value if _SECRET.fullmatch(value) else None


@dataclass(frozen=True, slots=True)
class Browser:
    """The browser that sent a request, as far as headers tell."""

    cookies: str = field(repr=False)
    origin: str | None = None
    fetch_site: str | None = None

    @classmethod
    def of(cls, request: web.Request) -> "Browser":
        """Read the request's headers."""
        headers = request.headers
        return cls(read_cookies(request), headers.get("Origin"), headers.get("Sec-Fetch-Site"))

    @property
    def is_one(self) -> bool:
        """True when a browser sent it: browsers name the requesting page, other programs do not."""
        return self.origin is not None or self.fetch_site is not None


class Cookies:
    """Writes cookies as response headers, and reads those that only this service can have set."""

    def __init__(self, settings: Settings) -> None:
        is_secure = settings.base_url.startswith("https://")
        self._flags = "; Path=/; HttpOnly; SameSite=Lax" + ("; Secure" if is_secure else "")
        # A cookie of such a name cannot come from a neighbouring host, nor over plain HTTP.
        self._leaving = f"__Host-{LEAVING}" if is_secure else LEAVING
        self._proof = _values_of(self._leaving)

    def session(self, session_id: str) -> Mapping[str, str]:
        """Set the session cookie, for as long as an unused session lives."""
        return self._set(SESSION, session_id, sessions.LIFE)

    def no_session(self) -> Mapping[str, str]:
        """Delete the session cookie."""
        return self._set(SESSION, "", timedelta())

    def leaving(self, secret: str) -> Mapping[str, str]:
        """Set the sign-in cookie, for as long as a sign-in may take."""
        return self._set(self._leaving, secret, _AWAY)

    def proof(self, browser: Browser) -> str | None:
        """The secret that proves that the sign-in began in this browser."""
        try:
            return _single_value(self._proof, browser.cookies)
        except Ambiguous:
            return None

    def secret(self, browser: Browser) -> str:
        """The same for a sign-in that begins now. All tabs share one secret, so that each can finish."""
        return self.proof(browser) or new_secret()

    def _set(self, name: str, value: str, life: timedelta) -> Mapping[str, str]:
        return {"Set-Cookie": f"{name}={value}; Max-Age={int(life.total_seconds())}{self._flags}"}
