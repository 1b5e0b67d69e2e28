"""THE ORDER of signing in, from a handle to tokens and calls made with them: read this first."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from secrets import token_urlsafe
from typing import Literal

from yarl import URL

from readapi.oauth import callback, dpop, keys
from readapi.oauth.discovery import Discovery
from readapi.oauth.dpop import Dpop
from readapi.oauth.endpoints import Endpoints
from readapi.oauth.errors import OAuthError, OAuthRefused, Unavailable
from readapi.oauth.grant import AccountIdentity, AuthorizationServer, Grant, PendingAuthorization, Tokens
from readapi.oauth.metadata import ClientMetadata
from readapi.oauth.network import Body, Network, Response
from readapi.oauth.responses import DEAD, Granted
from schemas.collections import ATPROTO
from schemas.ids import Did, Handle

SECRET_BYTES = 32
BEGIN_SECONDS = 30.0  # while the user looks at an empty page
TOKEN_SECONDS = 300.0  # when a server states no `expires_in`
LONGEST_TOKEN_SECONDS = 24 * 3600.0
CODE_SECONDS = 30.0  # the user looks at an empty page, and would have to begin again
REFRESH_SECONDS = 60.0  # no request need wait for it, and the grant may be lost with the answer
ANSWER_BYTES = 4 << 20
ANSWER_SECONDS = 30.0

Prompt = Literal["login", "consent", "select_account", "create", "none"]


class OAuthClient:
    """Authorizes accounts at their own servers, and sends requests there with their tokens.

    Keeps nothing but DPoP nonces: callers store what it returns.
    """

    def __init__(
        self,
        client: ClientMetadata,
        network: Network,
        *,
        allow_loopback: bool = False,
        begin_seconds: float = BEGIN_SECONDS,
        refresh_seconds: float = REFRESH_SECONDS,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._network = network
        self._dpop = Dpop(network)
        self._endpoints = Endpoints(client, self._dpop)
        self._discovery = Discovery(
            network, confidential=client.is_confidential, allow_loopback=allow_loopback
        )
        self._begin_seconds = begin_seconds
        self._refresh_seconds = refresh_seconds
        self._now = now

    async def begin(
        self, who: str, scope: str, *, prompt: Prompt | None = None
    ) -> tuple[PendingAuthorization, str]:
        """Begin an authorization for a handle or DID: its state and the URL to visit. Raises OAuthError."""
        try:
            async with asyncio.timeout(self._begin_seconds):
                identity = await self._discovery.identity(who)
                server = await self._discovery.server(identity.pds)
                pending, request_uri = await self._pushed(self._flight(identity, server, scope), prompt)
        except TimeoutError:
            raise Unavailable("Your server takes too long to answer.") from None
        asked = {"client_id": self._client.client_id, "request_uri": request_uri}
        return pending, str(URL(server.authorization_endpoint).extend_query(asked))

    async def finish(self, pending: PendingAuthorization, params: Mapping[str, str]) -> Grant:
        """Exchange the code in the callback's `params` for a grant. Raises OAuthError."""
        code = callback.check_code(pending, params)
        # A code is good once, so all else is settled first.
        pds = await self._home(pending.identity.did, pending.server.issuer)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": pending.redirect_uri,
            "code_verifier": pending.verifier,
        }
        granted = await self._endpoints.tokens(pending, form, CODE_SECONDS)
        tokens = await self._accepted(pending, pending.identity.did, granted, pending.scope.split())
        return Grant(pending.identity.did, pds, pending.server, pending.client_key, pending.dpop_key, tokens)

    async def refresh(self, grant: Grant) -> Tokens:
        """Refresh: new tokens for the refresh token. Raises Refused (the grant is dead) or Unavailable."""
        if grant.tokens.refresh_token is None:
            raise OAuthRefused(DEAD, "This authorization cannot be renewed.")
        if await self._has_moved(grant):
            with contextlib.suppress(OAuthError):
                await self.revoke(grant)
            raise OAuthRefused(DEAD, "The account has moved to another server.")
        form = {"grant_type": "refresh_token", "refresh_token": grant.tokens.refresh_token}
        try:
            granted = await self._endpoints.tokens(grant, form, self._refresh_seconds)
        except OAuthRefused as error:
            if error.kind == DEAD:
                raise
            # For example when the server could not fetch our client metadata document.
            raise Unavailable("Your server did not renew the authorization.", str(error)) from error
        tokens = await self._accepted(grant, grant.did, granted, grant.tokens.scopes)
        return replace(tokens, refresh_token=tokens.refresh_token or grant.tokens.refresh_token)

    async def revoke(self, grant: Grant) -> None:
        """Revoke the grant at its server. Raises OAuthError."""
        await self._endpoints.revoke(grant, grant.tokens.refresh_token or grant.tokens.access_token)

    async def handle(self, did: Did) -> Handle | None:
        """An account's current handle; None when it could not be resolved."""
        try:
            return (await self._network.resolve(did)).handle
        except Unavailable:
            return None

    async def request(
        self,
        grant: Grant,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: Body = None,
        max_bytes: int = ANSWER_BYTES,
        timeout_seconds: float = ANSWER_SECONDS,
    ) -> Response:
        """Send a request to the account's server; returns any status. Raises Unavailable."""
        if str(URL(url).origin()) != grant.pds:
            raise ValueError("tokens are for the person's own server only")
        return await self._dpop.send(
            grant.dpop_key,
            method,
            url,
            headers={**(headers or {}), "Authorization": f"DPoP {grant.tokens.access_token}"},
            body=lambda: body,
            max_bytes=max_bytes,
            timeout_seconds=timeout_seconds,
            access_token=grant.tokens.access_token,
        )

    def _flight(
        self, identity: AccountIdentity, server: AuthorizationServer, scope: str
    ) -> PendingAuthorization:
        return PendingAuthorization(
            state=token_urlsafe(SECRET_BYTES),
            identity=identity,
            server=server,
            scope=scope,
            verifier=token_urlsafe(SECRET_BYTES),
            dpop_key=keys.generate_key(),
            redirect_uri=self._client.redirect_uri,
            client_key=self._client.key_names[0],
            started_at=self._now(),
        )

    async def _pushed(
        self, pending: PendingAuthorization, prompt: Prompt | None
    ) -> tuple[PendingAuthorization, str]:
        """Push the request (PAR) with the newest key that the server knows: it may cache an older JWKS."""
        form = {
            "response_type": "code",
            "redirect_uri": pending.redirect_uri,
            "scope": pending.scope,
            "state": pending.state,
            "code_challenge": dpop.hash_text(pending.verifier),
            "code_challenge_method": "S256",
            "login_hint": pending.identity.handle or pending.identity.did,
        } | ({} if prompt is None else {"prompt": prompt})
        for older in self._client.key_names[1:]:
            try:
                return pending, await self._endpoints.push(pending, form)
            except OAuthRefused as error:
                if error.kind != "client_refused":
                    raise
            pending = replace(pending, client_key=older)
        return pending, await self._endpoints.push(pending, form)

    async def _home(self, did: Did, issuer: str) -> str:
        """The account's PDS, if it still trusts this issuer."""
        identity = await self._discovery.identity(did)
        server = await self._discovery.server(identity.pds)
        if server.issuer != issuer:
            raise OAuthRefused("identity_mismatch", "The account has moved to another server.")
        return identity.pds

    async def _has_moved(self, grant: Grant) -> bool:
        """Has the account moved to another PDS?"""
        try:
            known = await self._network.resolve(grant.did, anew=True)
        except Unavailable:
            return False
        return known.pds not in (None, grant.pds)

    async def _accepted(
        self, holder: PendingAuthorization | Grant, did: Did, granted: Granted, asked: Iterable[str]
    ) -> Tokens:
        """The tokens, if they are this account's and DPoP-bound; otherwise they are revoked.

        A server that states no scope has granted the requested one (RFC 6749, 5.1).
        """
        scopes = frozenset(asked if granted.scope is None else granted.scope.split())
        if granted.sub == did and granted.token_type.lower() == "dpop" and ATPROTO in scopes:
            seconds = TOKEN_SECONDS if granted.expires_in is None else granted.expires_in
            expires_at = self._now() + timedelta(seconds=min(max(seconds, 0), LONGEST_TOKEN_SECONDS))
            return Tokens(granted.access_token, granted.refresh_token, expires_at, scopes)
        with contextlib.suppress(OAuthError):
            await self._endpoints.revoke(holder, granted.refresh_token or granted.access_token)
        if granted.sub != did:
            raise OAuthRefused(
                "identity_mismatch", "A different account signed in than the one that was named."
            )
        raise OAuthRefused(
            "server_unsuitable", "Your server issued tokens without the required protection (DPoP)."
        )
