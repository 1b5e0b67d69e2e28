"""Signing in: the shapes of sessions, linked accounts, developer tokens and their requests."""

from typing import Annotated

from pydantic import Field, StringConstraints

from schemas.api.shape import Address, Asked, DidText, Shape, Time

Name = Annotated[str, Field(min_length=1, max_length=2048, description="A handle or a DID.")]
Secret = Annotated[str, Field(min_length=1, max_length=200)]
TokenName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)]

DEFAULT_DAYS = 180
MOST_DAYS = 365


class ToVisit(Shape):
    """The authorization page of the account's own server."""

    auth_url: Address


class ExchangeToken(Shape):
    """Valid for a minute, and once."""

    exchange_token: str


class Exchange(Asked):
    """The exchange token that the callback issued."""

    exchange_token: Secret


class NewSession(Shape):
    """For the cookie, or to be sent as a bearer token; and which account it is for."""

    session_id: str
    did: DidText
    handle: str


class NewDeveloperToken(Shape):
    """Shown this once."""

    token: str
    name: str
    expires_at: Time


class LinkedAccount(Shape):
    """One of the accounts in a session."""

    did: DidText
    handle: str
    active: bool


class Me(Shape):
    """The signed-in account, and the scopes that it granted."""

    did: DidText
    handle: str
    display_name: str | None
    scopes: list[str]
    linked_accounts: list[LinkedAccount]


class ScopeUpgrade(Asked):
    """Scopes to request besides those of every sign-in."""

    scopes: tuple[str, ...] = ()


class AddAccount(Asked):
    """The account to link."""

    handle: Name


class SwitchAccount(Asked):
    """The linked account to make active."""

    target_did: Name


class Switched(Shape):
    """The account that is now active in the session."""

    did: DidText
    handle: str
    session_id: str


class WantedToken(Asked):
    """A developer token to be made."""

    name: TokenName
    expires_in_days: Annotated[int, Field(ge=1, le=MOST_DAYS)] = DEFAULT_DAYS


class DeveloperToken(Shape):
    """A token as its owner is shown it."""

    id: str
    name: str
    prefix: str
    created_at: Time
    last_used_at: Time | None
    expires_at: Time
    ended_because: str | None = Field(description="Why it is of no use any more; null while it is.")


class DeveloperTokens(Shape):
    """All of an account's, newest first."""

    tokens: list[DeveloperToken]
