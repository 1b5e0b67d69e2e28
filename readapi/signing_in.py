"""THE ORDER of an authorization: a person leaves for their server, returns, and an exchange ends it."""

import hmac
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeGuard

import structlog

from readapi.oauth import scopes
from readapi.oauth.client import OAuthClient
from readapi.oauth.errors import OAuthError, Refused
from readapi.revoking import Revoking
from readapi.state.accounts import Account
from readapi.state.errand import Errand
from readapi.state.exchanges import Arrival
from readapi.state.flights import Departure
from readapi.state.secret import key_of
from readapi.state.state import State
from readapi.viewer import InSession, SignedIn
from schemas.collections import Collections
from schemas.ids import INVALID_HANDLE

log = structlog.get_logger()

PAGE = "page"  # detail of an errand: where on our own pages somebody wants to go on
BROWSER = "browser"  # detail of an errand that a browser began: the hash of the secret in its cookie
NAME, DAYS = "name", "days"  # of a developer token
USED_UP = "This exchange token was used already, or is older than a minute."


@dataclass(frozen=True, slots=True)
class Return:
    """Somebody is back. `errand`: what they left for, if that is known. Either a token or an error."""

    errand: Errand | None
    exchange_token: str | None = field(default=None, repr=False)
    error: OAuthError | None = None


@dataclass(frozen=True, slots=True)
class SessionBegun:
    """A session, with the account that was signed in or linked. `is_new`: it began just now."""

    session_id: str = field(repr=False)
    account: Account
    is_new: bool


@dataclass(frozen=True, slots=True)
class TokenMade:
    """A developer token, to be shown once."""

    token: str = field(repr=False)
    name: str
    expires_at: datetime


class UnknownScope(Exception):
    """Nothing of ours needs it; the message is a sentence."""


class NoSuchExchange(Exception):
    """Unknown, used, too old, or not for whoever asks; the message is a sentence."""


class SigningIn:
    """Joins what servers say (`oauth`) with what we keep (`state`)."""

    def __init__(
        self, client: OAuthClient, state: State, revoking: Revoking, collections: Collections
    ) -> None:
        self._client = client
        self._state = state
        self._revoking = revoking
        self._collections = collections

    async def begin(self, who: str, errand: Errand, more: Iterable[str] = ()) -> str:
        """The page of their server to send somebody to, named by handle or DID. Raises OAuthError.

        `more`: scopes besides those that signing in asks for. Raises UnknownScope when they are none of ours.
        """
        wanted = dict.fromkeys((*scopes.to_sign_in(self._collections), *more))
        if unknown := wanted.keys() - set(scopes.everything(self._collections)):
            raise UnknownScope(f"{min(unknown)} is no scope that this service asks for.")
        with _failures_logged():
            flight, page = await self._client.begin(who, " ".join(wanted))
        await self._state.flights.put(Departure(flight, errand))
        return page

    async def upgrade(self, who: InSession, more: Iterable[str], **details: str | int) -> str:
        """As `begin`, for somebody who is here already and keeps what they granted besides."""
        errand = Errand("scope_upgrade", who.key.hex(), details)
        return await self.begin(who.did, errand, [*self._granted_besides(who), *more])

    async def add_account(self, who: InSession, name: str, **details: str | int) -> str:
        """As `begin`, for another account of somebody who is here already."""
        return await self.begin(name, Errand("add_account", who.key.hex(), details))

    async def make_token(self, who: InSession, name: str, days: int, **details: str | int) -> str:
        """As `begin`, for a developer token that may do what its owner's session may."""
        errand = Errand("developer_token", who.key.hex(), {**details, NAME: name, DAYS: days})
        return await self.begin(who.did, errand, self._granted_besides(who))

    async def finish(self, params: Mapping[str, str]) -> Return:
        """What the server sent the person back with, checked, and what was granted kept for the exchange."""
        departure = await self._state.flights.take(params.get("state", ""))
        if departure is None:
            sentence = "This was begun too long ago, or not here. Begin again."
            return Return(None, error=Refused("callback_mismatch", sentence))
        try:
            with _failures_logged():
                grant = await self._client.finish(departure.flight, params)
        except OAuthError as error:
            return Return(departure.errand, error=error)
        grant_id = await self._state.grants.add(grant)
        handle = departure.flight.identity.handle
        if handle is not None:
            await self._state.grants.note_handle(grant.did, handle)
        arrival = Arrival(grant.did, handle or INVALID_HANDLE, grant_id, departure.errand)
        return Return(departure.errand, await self._state.exchanges.put(arrival))

    async def exchange_by_program(self, token: str, who: SignedIn | None) -> SessionBegun | TokenMade:
        """What the token stands for, once, unless a browser began it. Raises NoSuchExchange.

        A refusal does not use the token up.
        """
        arrival = await self._found(token)
        if BROWSER in arrival.errand.details:
            raise NoSuchExchange("This was begun in a browser, and ends there.")
        return await self._ended(token, arrival, who)

    async def exchange(
        self, token: str, who: SignedIn | None, browser: str | None
    ) -> SessionBegun | TokenMade:
        """The same for a browser, if it is the one that began; `browser`: the secret in its cookie.

        Otherwise an address with the token of a stranger's sign-in would sign visitors in as the stranger.
        """
        arrival = await self._found(token)
        errand = arrival.errand
        if errand.purpose == "sign_in" and not _left_from(browser, errand):
            raise NoSuchExchange("This was not begun in this browser.")
        return await self._ended(token, arrival, who)

    async def _found(self, token: str) -> Arrival:
        arrival = await self._state.exchanges.find(token)
        if arrival is None:
            raise NoSuchExchange(USED_UP)
        return arrival

    async def _use_up(self, token: str) -> None:
        """Of several that would exchange it now, one does."""
        if await self._state.exchanges.take(token) is None:
            raise NoSuchExchange(USED_UP)

    async def _ended(self, token: str, arrival: Arrival, who: SignedIn | None) -> SessionBegun | TokenMade:
        account = Account(arrival.did, arrival.handle, arrival.grant_id)
        errand = arrival.errand
        if errand.purpose == "sign_in":
            await self._use_up(token)
            return await self._begun(account, who)
        # What was begun in a session ends in it: nobody else is given a token or an account.
        if not _began(who, errand):
            raise NoSuchExchange("This exchange token belongs to another session.")
        await self._use_up(token)
        if errand.purpose == "developer_token":
            return await self._token(account, errand)
        return await self._link(account, who)

    async def _begun(self, account: Account, who: SignedIn | None) -> SessionBegun:
        """A new session. It replaces one that the request came with, if that was of the same account only."""
        session_id = await self._state.sessions.begin(account)
        if isinstance(who, InSession):
            await self._revoking.revoke(await self._state.sessions.end_alone(who.key, account.did))
        return SessionBegun(session_id, account, is_new=True)

    async def _token(self, account: Account, errand: Errand) -> TokenMade:
        name, days = str(errand.details[NAME]), int(errand.details[DAYS])
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
        """What was once asked for and granted is asked for again."""
        optional = set(scopes.everything(self._collections)) - {self._collections.permission_set}
        # Servers may write what was granted more shortly than it was asked for.
        return sorted(scope for scope in optional if scopes.covers(who.scopes, scope, self._collections))


@contextmanager
def _failures_logged() -> Iterator[None]:
    """Operators are told what the server said; people only what it means."""
    try:
        yield
    except OAuthError as error:
        log.info("signing in went no further", kind=error.kind, reason=str(error))
        raise


def _began(who: SignedIn | None, errand: Errand) -> TypeGuard[InSession]:
    """Is this the session that the errand began in?"""
    return isinstance(who, InSession) and who.key.hex() == errand.session_key


def bound_to(secret: str) -> dict[str, str | int]:
    """Details of an errand that only the browser which holds this secret may end."""
    return {BROWSER: key_of(secret).hex()}


def _left_from(browser: str | None, errand: Errand) -> bool:
    expected, proven = errand.details.get(BROWSER), browser or ""
    return expected is not None and hmac.compare_digest(str(expected), key_of(proven).hex())
