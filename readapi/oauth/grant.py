"""The values of an authorization: server, identity, pending authorization, tokens, grant."""

from dataclasses import dataclass, field
from datetime import datetime

from schemas.ids import Did, Handle


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """An authorization server, as its metadata says."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    par_endpoint: str
    revocation_endpoint: str | None


@dataclass(frozen=True, slots=True)
class AccountIdentity:
    """An account and the origin of its PDS. `handle`: None unless it resolves to the DID."""

    did: Did
    handle: Handle | None
    pds: str


@dataclass(frozen=True, slots=True)
class PendingAuthorization:
    """An authorization under way, identified by `state`.

    `dpop_key` is a private JWK in JSON, `client_key` the name of the key that we authenticate with; None for
    a public client.
    """

    state: str = field(repr=False)
    identity: AccountIdentity
    server: AuthorizationServer
    scope: str
    verifier: str = field(repr=False)
    dpop_key: str = field(repr=False)
    redirect_uri: str
    client_key: str | None
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens as issued. `scopes` are those granted, which may differ from those requested."""

    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    expires_at: datetime
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Grant:
    """Tokens, with everything needed to use, refresh and revoke them."""

    did: Did
    pds: str
    server: AuthorizationServer
    client_key: str | None
    dpop_key: str = field(repr=False)
    tokens: Tokens
