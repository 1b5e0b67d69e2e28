"""The cookies that browsers hold: of a session, and of whoever has just left to sign in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from readapi.state import flights, sessions
from schemas.settings import Settings

SESSION = "session_id"
LEAVING = "leaving"


def _said(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|;) *{name}=([\w-]+)")


_SESSION = _said(SESSION)


def session_id(header: str) -> str | None:
    """What a Cookie header says of a session."""
    found = _SESSION.search(header)
    return None if found is None else found[1]


@dataclass(frozen=True, slots=True)
class Browser:
    """Whatever browser sent this Cookie header."""

    header: str = field(repr=False)


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
        return self._set(self._leaving, secret, flights.LIFE)

    def proof(self, browser: Browser) -> str | None:
        """What proves that it was this browser that left to sign in."""
        found = self._proof.search(browser.header)
        return None if found is None else found[1]

    def _set(self, name: str, value: str, life: timedelta) -> Mapping[str, str]:
        return {"Set-Cookie": f"{name}={value}; Max-Age={int(life.total_seconds())}{self._flags}"}
