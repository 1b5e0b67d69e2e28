"""The cookies that browsers hold: of a session, and of whoever has just left to sign in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from readapi.state import flights, sessions
from schemas.settings import Settings

SESSION = "session_id"
LEAVING = "leaving"

_SESSION = re.compile(rf"(?:^|;) *{SESSION}=([\w-]+)")
_LEAVING = re.compile(rf"(?:^|;) *{LEAVING}=([\w-]+)")


def session_id(header: str) -> str | None:
    """What a Cookie header says of a session."""
    found = _SESSION.search(header)
    return None if found is None else found[1]


@dataclass(frozen=True, slots=True)
class Browser:
    """Whatever browser sent this Cookie header."""

    header: str = field(repr=False)

    @property
    def proof(self) -> str | None:
        """What proves that it was this one that left to sign in."""
        found = _LEAVING.search(self.header)
        return None if found is None else found[1]


class Cookies:
    """Writes them, as headers of an answer."""

    def __init__(self, settings: Settings) -> None:
        secure = "; Secure" if settings.base_url.startswith("https://") else ""
        self._flags = f"; Path=/; HttpOnly; SameSite=Lax{secure}"

    def session(self, session_id: str) -> Mapping[str, str]:
        """Kept as long as the session lives if nobody uses it."""
        return self._set(SESSION, session_id, sessions.LIFE)

    def no_session(self) -> Mapping[str, str]:
        """Forgotten at once."""
        return self._set(SESSION, "", timedelta())

    def leaving(self, secret: str) -> Mapping[str, str]:
        """Kept as long as somebody may take to come back."""
        return self._set(LEAVING, secret, flights.LIFE)

    def _set(self, name: str, value: str, life: timedelta) -> Mapping[str, str]:
        return {"Set-Cookie": f"{name}={value}; Max-Age={int(life.total_seconds())}{self._flags}"}
