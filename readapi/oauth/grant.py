"""What an authorization is made of: who, at which server, under way, granted. Values only."""

from dataclasses import dataclass, field
from datetime import datetime

from schemas.ids import Did, Handle


@dataclass(frozen=True, slots=True)
class Server:
    """An authorization server, as its metadata says."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    par_endpoint: str
    revocation_endpoint: str | None


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody, and the origin of the server that they are on. `handle`: None unless it leads back."""

    did: Did
    handle: Handle | None
    pds: str


@dataclass(frozen=True, slots=True)
class Flight:
    """An authorization under way; `state` names it.

    `dpop_key` is a private JWK in JSON, `client_key` the name of the key that we authenticate with; None: a
    client without keys has none.
    """

    state: str = field(repr=False)
    identity: Identity
    server: Server
    scope: str
    verifier: str = field(repr=False)
    dpop_key: str = field(repr=False)
    redirect_uri: str
    client_key: str | None
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a server handed out. `scopes` are those that it granted, whatever was asked for."""

    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    expires_at: datetime
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Grant:
    """Tokens, and everything that is needed to use, refresh and revoke them."""

    did: Did
    pds: str
    server: Server
    client_key: str | None
    dpop_key: str = field(repr=False)
    tokens: Tokens
