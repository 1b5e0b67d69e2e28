"""Signing in: the shapes of sessions, linked accounts, developer tokens and their requests."""

from typing import Annotated

from pydantic import Field, StringConstraints

from schemas.api.shape import Address, Asked, DidText, Shape, Time

Name = Annotated[str, Field(min_length=1, max_length=2048, description="A handle or a DID.")]
Parameter = Annotated[str, Field(min_length=1, max_length=300)]
Verifier = Annotated[str, Field(min_length=43, max_length=128, pattern=r"^[A-Za-z0-9._~-]+$")]
Secret = Annotated[str, Field(min_length=1, max_length=200)]
TokenName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)]

DEFAULT_DAYS = 180
MOST_DAYS = 365


class ToVisit(Shape):
    """The URL of the authorization page at the account's own server."""

    auth_url: Address


class ExchangeToken(Shape):
    """An exchange token. It is valid for one minute and for one use."""

    exchange_token: str


class Exchange(Asked):
    """The exchange token that the callback issued.

    `code_verifier`: of the code challenge that the sign-in began with, if it began with one.
    """

    exchange_token: Secret
    code_verifier: Verifier | None = None


class NewSession(Shape):
    """A new session: its id, for the cookie or as a bearer token, and its account."""

    session_id: str
    did: DidText
    handle: str


class NewDeveloperToken(Shape):
    """A new developer token. It is shown only once."""

    token: str
    name: str
    expires_at: Time


class LinkedAccount(Shape):
    """One of the accounts linked in a session."""

    did: DidText
    handle: str
    active: bool


class Me(Shape):
    """The signed-in account, and the scopes that it has granted."""

    did: DidText
    handle: str
    display_name: str | None
    scopes: list[str]
    linked_accounts: list[LinkedAccount]


class ScopeUpgrade(Asked):
    """Scopes to request in addition to those of every sign-in."""

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
    """A developer token to create."""

    name: TokenName
    expires_in_days: Annotated[int, Field(ge=1, le=MOST_DAYS)] = DEFAULT_DAYS


class DeveloperToken(Shape):
    """A developer token as listed, without its secret."""

    id: str
    name: str
    prefix: str
    created_at: Time
    last_used_at: Time | None
    expires_at: Time
    ended_because: str | None = Field(description="Why the token is no longer valid; null while it is valid.")


class DeveloperTokens(Shape):
    """All developer tokens of the account, newest first."""

    tokens: list[DeveloperToken]
