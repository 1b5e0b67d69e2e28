"""People who sign in, what their servers grant, and a clock that is moved by hand."""

from datetime import UTC, datetime, timedelta

from readapi.oauth.grant import AccountIdentity, AuthorizationServer, Grant, PendingAuthorization, Tokens
from readapi.state.db.one_time import new_secret
from readapi.state.sign_in.developer_tokens import DeveloperToken
from readapi.state.sign_in.grants import GrantId
from readapi.state.sign_in.linked_accounts import Account
from readapi.state.state import State
from schemas.ids import Did, Handle

MARA, BEN = Did("did:plc:mara"), Did("did:plc:ben")
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
SERVER = AuthorizationServer(
    issuer="https://pds.example",
    authorization_endpoint="https://pds.example/oauth/authorize",
    token_endpoint="https://pds.example/oauth/token",
    par_endpoint="https://pds.example/oauth/par",
    revocation_endpoint="https://pds.example/oauth/revoke",
)
SCOPES = frozenset({"atproto", "repo:fm.svc.like"})


class HandClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        return self.time

    def forward(self, **duration: float) -> None:
        self.time += timedelta(**duration)


def tokens(number: int = 1, expires_at: datetime = START + timedelta(hours=1)) -> Tokens:
    """The tokens that a server hands out the nth time."""
    return Tokens(f"access-token-{number}", f"refresh-token-{number}", expires_at, SCOPES)


def grant(did: Did = MARA, expires_at: datetime = START + timedelta(hours=1)) -> Grant:
    """What somebody granted an hour's access with."""
    key = '{"kty":"EC","d":"private-dpop-key"}'
    return Grant(did, "https://pds.example", SERVER, "key-1", key, tokens(expires_at=expires_at))


def flight() -> PendingAuthorization:
    """Somebody on the way to their server."""
    return PendingAuthorization(
        state=new_secret(),
        identity=AccountIdentity(MARA, Handle("mara.example"), "https://pds.example"),
        server=SERVER,
        scope="atproto",
        verifier="pkce-verifier",
        dpop_key='{"kty":"EC","d":"private-dpop-key"}',
        redirect_uri="https://fmsvc.example/auth/callback",
        client_key=None,
        started_at=START,
    )


def token(
    did: Did = MARA, scopes: frozenset[str] = SCOPES, ended_because: str | None = None
) -> DeveloperToken:
    """A developer token as it is found."""
    handle = Handle(f"{did.rpartition(':')[2]}.example")
    of_whom = ("1", "radio", "fmsvc_abc", did, handle, GrantId("1"), scopes)
    return DeveloperToken(*of_whom, START, None, datetime(9999, 1, 1, tzinfo=UTC), ended_because)


async def account(state: State, did: Did = MARA) -> Account:
    """Somebody with a stored grant."""
    return Account(did, Handle(f"{did.rpartition(':')[2]}.example"), await state.grants.add(grant(did)))
