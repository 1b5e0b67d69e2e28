"""What the templates of the pages of signing in are given."""

from collections.abc import Sequence
from dataclasses import dataclass

from readapi.pages.landing import Landing
from readapi.pages.notes import Note
from readapi.pages.permissions import Permissions
from readapi.signing_in import TokenMade
from readapi.state.accounts import LinkedAccount
from readapi.state.developer_tokens import DeveloperToken
from readapi.state.sessions import Session
from schemas.api.auth import DEFAULT_DAYS, MOST_DAYS

View = dict[str, object]


@dataclass(frozen=True, slots=True)
class Attempt:
    """The handle that somebody typed, and why it went no further; both empty on a fresh page."""

    handle: str = ""
    error: str | None = None


FRESH = Attempt()


def of_login(to: Landing, note: Note | None = None, attempt: Attempt = FRESH) -> View:
    """For the page to sign in on, from which somebody goes on `to` another."""
    return {"to": to, "note": note, "attempt": attempt}


def of_arrival(exchange_token: str) -> View:
    """For a person whose program began to sign them in."""
    return {"note": None, "exchange_token": exchange_token}


def of_start(name: str, parameter: str) -> View:
    """For a person whom a link asks to sign in under a name; `parameter`: what the address calls the name."""
    return {"note": None, "name": name, "parameter": parameter}


def of_settings(
    session: Session,
    accounts: Sequence[LinkedAccount],
    permissions: Permissions,
    tokens: Sequence[DeveloperToken],
    note: Note | None = None,
    attempt: Attempt = FRESH,
) -> View:
    """For the settings of somebody who is signed in."""
    return {
        "note": note,
        "attempt": attempt,
        "session": session,
        "accounts": accounts,
        "permissions": permissions,
        "tokens": tokens,
        "default_days": DEFAULT_DAYS,
        "most_days": MOST_DAYS,
    }


def of_token(made: TokenMade) -> View:
    """For the only time that a token is shown."""
    return {"note": None, "made": made}
