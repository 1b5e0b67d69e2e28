"""The cookies that browsers hold: of a session, and of a browser whose user has just left to sign in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from readapi.state import exchanges, flights, sessions
from readapi.state.secret import new_secret
from schemas.settings import Settings

SESSION = "session_id"
LEAVING = "leaving"
_AWAY = flights.LIFE + exchanges.LIFE  # the longest way to a server and back, and to the end of it here


def _said(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|;) *{name}=([\w-]+)")


_SESSION = _said(SESSION)


def session_id(header: str) -> str | None:
    """What a Cookie header says of a session."""
    found = _SESSION.search(header)
    return None if found is None else found[1]


@dataclass(frozen=True, slots=True)
class Browser:
    """What a request tells of the browser that sent it, if a browser did."""

    cookies: str = field(repr=False)
    origin: str | None = None
    fetch_site: str | None = None

    @classmethod
    def of(cls, headers: Mapping[str, str]) -> "Browser":
        """As the headers of a request say."""
        return cls(headers.get("Cookie", ""), headers.get("Origin"), headers.get("Sec-Fetch-Site"))

    @property
    def is_one(self) -> bool:
        """True where a browser speaks: it names the page that asks, and no program has a reason to."""
        return self.origin is not None or self.fetch_site is not None


class Cookies:
    """Writes them, as headers of an answer, and reads what only this service may have written."""

    def __init__(self, settings: Settings) -> None:
        is_secure = settings.base_url.startswith("https://")
        self._flags = "; Path=/; HttpOnly; SameSite=Lax" + ("; Secure" if is_secure else "")
        # A cookie of such a name cannot come from a neighbouring host, nor over plain HTTP.
        self._leaving = f"__Host-{LEAVING}" if is_secure else LEAVING
        self._proof = _said(self._leaving)

    def session(self, session_id: str) -> Mapping[str, str]:
        """Kept as long as the session lives if nobody uses it."""
        return self._set(SESSION, session_id, sessions.LIFE)

    def no_session(self) -> Mapping[str, str]:
        """Forgotten at once."""
        return self._set(SESSION, "", timedelta())

    def leaving(self, secret: str) -> Mapping[str, str]:
        """Kept as long as somebody may take to come back."""
        return self._set(self._leaving, secret, _AWAY)

    def proof(self, browser: Browser) -> str | None:
        """The secret of a browser whose user has left to sign in, which no other browser has."""
        found = self._proof.search(browser.cookies)
        return None if found is None else found[1]

    def secret(self, browser: Browser) -> str:
        """The same for a browser whose user leaves now. Its tabs share one, so that each may come back."""
        return self.proof(browser) or new_secret()

    def _set(self, name: str, value: str, life: timedelta) -> Mapping[str, str]:
        return {"Set-Cookie": f"{name}={value}; Max-Age={int(life.total_seconds())}{self._flags}"}
