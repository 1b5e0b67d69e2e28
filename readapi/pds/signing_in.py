"""THE ORDER of a sign-in: begin at the account's server, callback, exchange for a session or token."""

import hmac
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeGuard

import structlog

from readapi.http.viewer import InSession, SignedIn
from readapi.oauth import scopes
from readapi.oauth.client import OAuthClient
from readapi.oauth.errors import OAuthError, OAuthRefused
from readapi.pds.native_clients import NativeClient
from readapi.pds.revocation import Revocation
from readapi.state.db.one_time import key_of
from readapi.state.sign_in.authorization_requests import AuthorizationPurpose, AuthorizationRequest
from readapi.state.sign_in.exchange_tokens import ExchangeToken
from readapi.state.sign_in.linked_accounts import Account
from readapi.state.state import State
from schemas.collections import Collections
from schemas.ids import INVALID_HANDLE

log = structlog.get_logger()

PAGE = "page"  # detail of a purpose: the page to return to
BROWSER = "browser"  # detail of a purpose that a browser began with: the hash of the secret in its cookie
NAME, DAYS = "name", "days"  # details of a developer token
USED_UP = "This exchange token was used already, or is older than a minute."


@dataclass(frozen=True, slots=True)
class Return:
    """The result of a callback: a token or an error. `purpose`: the purpose, if it is known."""

    purpose: AuthorizationPurpose | None
    exchange_token: str | None = field(default=None, repr=False)
    error: OAuthError | None = None


@dataclass(frozen=True, slots=True)
class SessionBegun:
    """A session, with the account that was signed in or linked. `is_new`: the session was just created."""

    session_id: str = field(repr=False)
    account: Account
    is_new: bool


@dataclass(frozen=True, slots=True)
class TokenMade:
    """A new developer token, to be shown once."""

    token: str = field(repr=False)
    name: str
    expires_at: datetime


class UnknownScope(Exception):
    """A requested scope that this service does not use; the message is a sentence."""


class NoSuchExchange(Exception):
    """The exchange token is unknown, used, expired, or not for this requester; the message is a sentence."""


class SignIn:
    """Joins the protocol (`oauth`) with the stored sessions, grants and tokens (`state`)."""

    def __init__(
        self, client: OAuthClient, state: State, revoking: Revocation, collections: Collections
    ) -> None:
        self._client = client
        self._state = state
        self._revoking = revoking
        self._collections = collections

    async def begin(self, who: str, purpose: AuthorizationPurpose, more: Iterable[str] = ()) -> str:
        """Begin an authorization for a handle or DID; returns the URL to visit. Raises OAuthError.

        `more`: scopes besides those of every sign-in. Raises UnknownScope for those that we do not use.
        """
        wanted = dict.fromkeys((*scopes.sign_in_scopes(self._collections), *more))
        if unknown := wanted.keys() - set(scopes.all_scopes(self._collections)):
            raise UnknownScope(f"{min(unknown)} is no scope that this service asks for.")
        with _failures_logged():
            flight, page = await self._client.begin(who, " ".join(wanted))
        await self._state.flights.put(AuthorizationRequest(flight, purpose))
        return page

    async def upgrade(self, who: InSession, more: Iterable[str], **details: str | int) -> str:
        """As `begin`, for a session that keeps its optional scopes and gets `more`."""
        purpose = AuthorizationPurpose("scope_upgrade", who.key.hex(), details)
        return await self.begin(who.did, purpose, [*self._granted_besides(who), *more])

    async def add_account(self, who: InSession, name: str, **details: str | int) -> str:
        """As `begin`, to link another account to a session."""
        return await self.begin(name, AuthorizationPurpose("add_account", who.key.hex(), details))

    async def make_token(self, who: InSession, name: str, days: int, **details: str | int) -> str:
        """As `begin`, for a developer token with the scopes of the session."""
        purpose = AuthorizationPurpose("developer_token", who.key.hex(), {**details, NAME: name, DAYS: days})
        return await self.begin(who.did, purpose, self._granted_besides(who))

    async def finish(self, params: Mapping[str, str]) -> Return:
        """Check the callback's `params`, and store the grant for the exchange."""
        pending = await self._state.flights.take(params.get("state", ""))
        if pending is None:
            sentence = "This sign-in has expired, or was not started here. Start again."
            return Return(None, error=OAuthRefused("callback_mismatch", sentence))
        try:
            with _failures_logged():
                grant = await self._client.finish(pending.flight, params)
        except OAuthError as error:
            return Return(pending.purpose, error=error)
        grant_id = await self._state.grants.add(grant)
        handle = pending.flight.identity.handle
        if handle is not None:
            await self._state.grants.note_handle(grant.did, handle)
        exchange = ExchangeToken(grant.did, handle or INVALID_HANDLE, grant_id, pending.purpose)
        return Return(pending.purpose, await self._state.exchanges.put(exchange))

    async def exchange_by_program(
        self, token: str, who: SignedIn | None, verifier: str | None = None
    ) -> SessionBegun | TokenMade:
        """Exchange a token, once, unless a browser began the sign-in. Raises NoSuchExchange.

        `verifier`: of the challenge that the sign-in began with, if it did. A refusal does not use the
        token up.
        """
        exchange = await self._found(token)
        native = NativeClient.read(exchange.purpose.details)
        if native is None and verifier is not None:  # else a token of another sign-in could be slipped in
            raise NoSuchExchange("This sign-in began without a code challenge.")
        if native is not None and not native.accepts(verifier):
            raise NoSuchExchange("The code verifier is missing, or is not the one of this sign-in.")
        if BROWSER in exchange.purpose.details:
            raise NoSuchExchange("This sign-in was started in a browser, and must be completed there.")
        return await self._ended(token, exchange, who)

    async def exchange(
        self, token: str, who: SignedIn | None, browser: str | None
    ) -> SessionBegun | TokenMade:
        """The same in the browser that began the sign-in; `browser`: the secret in its cookie.

        Without this check, a link with an attacker's token would sign visitors in as the attacker.
        """
        exchange = await self._found(token)
        purpose = exchange.purpose
        if purpose.kind == "sign_in" and not _began_in_browser(browser, purpose):
            raise NoSuchExchange("This sign-in was not started in this browser.")
        return await self._ended(token, exchange, who)

    async def _found(self, token: str) -> ExchangeToken:
        exchange = await self._state.exchanges.find(token)
        if exchange is None:
            raise NoSuchExchange(USED_UP)
        return exchange

    async def _use_up(self, token: str) -> None:
        """Take the token, so that of several concurrent exchanges one succeeds."""
        if await self._state.exchanges.take(token) is None:
            raise NoSuchExchange(USED_UP)

    async def _ended(
        self, token: str, exchange: ExchangeToken, who: SignedIn | None
    ) -> SessionBegun | TokenMade:
        account = Account(exchange.did, exchange.handle, exchange.grant_id)
        purpose = exchange.purpose
        if purpose.kind == "sign_in":
            await self._use_up(token)
            return await self._begun(account, who)
        # An authorization that began in a session ends in it: no other session gets its token or account.
        if not _began_in_session(who, purpose):
            raise NoSuchExchange("This exchange token belongs to another session.")
        await self._use_up(token)
        if purpose.kind == "developer_token":
            return await self._token(account, purpose)
        return await self._link(account, who)

    async def _begun(self, account: Account, who: SignedIn | None) -> SessionBegun:
        """Begin a session. It replaces the request's own if that held the same account only."""
        session_id = await self._state.sessions.begin(account)
        if isinstance(who, InSession):
            await self._revoking.revoke(await self._state.sessions.end_alone(who.key, account.did))
        return SessionBegun(session_id, account, is_new=True)

    async def _token(self, account: Account, purpose: AuthorizationPurpose) -> TokenMade:
        name, days = str(purpose.details[NAME]), int(purpose.details[DAYS])
        token, expires_at = await self._state.developer_tokens.create(account, name, days)
        return TokenMade(token, name, expires_at)

    async def _link(self, account: Account, who: InSession) -> SessionBegun:
        try:
            replaced = await self._state.accounts.link(who.key, account)
        except LookupError as error:
            raise NoSuchExchange(str(error)) from error
        if replaced is not None:
            await self._revoking.revoke([replaced])
        return SessionBegun(who.session_id, account, is_new=False)

    def _granted_besides(self, who: SignedIn) -> list[str]:
        """The optional scopes that were granted before, to be requested again."""
        optional = set(scopes.all_scopes(self._collections)) - {self._collections.permission_set}
        # Servers may write granted scopes in a shorter form than the requested ones.
        return sorted(scope for scope in optional if scopes.covers(who.scopes, scope, self._collections))


@contextmanager
def _failures_logged() -> Iterator[None]:
    """Log the server's words for operators; users get only the sentence."""
    try:
        yield
    except OAuthError as error:
        log.info("signing in went no further", kind=error.kind, reason=str(error))
        raise


def _began_in_session(who: SignedIn | None, purpose: AuthorizationPurpose) -> TypeGuard[InSession]:
    """Is this the session that the authorization began in?"""
    return isinstance(who, InSession) and who.key.hex() == purpose.session_key


def bind_to_browser(secret: str) -> dict[str, str | int]:
    """Details that bind an authorization to the browser with this secret."""
    return {BROWSER: key_of(secret).hex()}


def _began_in_browser(browser: str | None, purpose: AuthorizationPurpose) -> bool:
    expected, proven = purpose.details.get(BROWSER), browser or ""
    return expected is not None and hmac.compare_digest(str(expected), key_of(proven).hex())
