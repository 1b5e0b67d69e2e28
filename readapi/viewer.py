"""Who asks: the account behind the cookie or the bearer token of a request."""

import asyncio
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from aiohttp import web

from readapi import cookies
from readapi.errors import NotAuthenticated, SessionExpired
from readapi.limits import Limiter, Spent
from readapi.state.developer_tokens import DeveloperToken
from readapi.state.grants import GrantId
from readapi.state.memory import Memory
from readapi.state.secret import DEVELOPER_TOKEN
from readapi.state.sessions import Session
from readapi.state.state import State
from schemas.access import Viewer
from schemas.ids import INVALID_HANDLE, Did, Handle

Credential = tuple[str, bool]  # a secret, and whether a cookie brought it

_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Somebody whose session or developer token was found."""

    account: Session | DeveloperToken

    @property
    def did(self) -> Did:
        return self.account.did

    @property
    def handle(self) -> Handle:
        return self.account.handle

    @property
    def grant_id(self) -> GrantId:
        return self.account.grant_id

    @property
    def scopes(self) -> frozenset[str]:
        """What was granted."""
        return self.account.scopes

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.did)

    @property
    def name(self) -> str:
        """What pages call the account: its handle, else its DID."""
        return self.did if self.handle == INVALID_HANDLE else f"@{self.handle}"


@dataclass(frozen=True, slots=True)
class InSession(SignedIn):
    """Somebody who signed in themselves, not a program with a developer token."""

    account: Session
    session_id: str = field(repr=False)
    by_cookie: bool

    @property
    def key(self) -> bytes:
        """What the session is stored under."""
        return self.account.key


@dataclass(frozen=True, slots=True)
class Asker:
    """Whoever sent a credential. `refusal`: why it is of no use, if it is not."""

    signed_in: SignedIn | None
    refusal: NotAuthenticated | None
    by_cookie: bool

    @property
    def renewed_cookie(self) -> str | None:
        """The session id that a browser is to keep for longer, when this request made its session do so."""
        who = self.signed_in
        if isinstance(who, InSession) and who.by_cookie and who.account.renewed:
            return who.session_id
        return None

    @property
    def viewer(self) -> SignedIn | None:
        """Somebody only as long as the credential is of use."""
        return self.signed_in if self.refusal is None else None


ASKER = web.RequestKey("asker", Asker)  # where a request says who asks, if it brought a credential


class Viewers:
    """Looks credentials up. A header wins over a cookie: it was sent on purpose.

    `guesses` limits how many that were not good before are looked up for one client, of those that `client`
    tells apart: whoever tries out wrong ones holds up nobody who is signed in already.
    """

    def __init__(self, state: State, guesses: Limiter, client: Callable[[web.Request], str]) -> None:
        self._guesses = guesses
        self._client = client
        self._database = state.database
        self._memory = Memory[Asker](state.database)
        self._under_way: dict[Hashable, asyncio.Task[Asker]] = {}
        self._sessions = state.sessions
        self._developer_tokens = state.developer_tokens

    async def find(self, request: web.Request) -> Asker | None:
        """Who asks; None for a request without credentials. Raises Spent."""
        credential = _credential(request.headers)
        if credential is None:
            return None
        if (remembered := self._memory.recall(credential)) is not None:
            return remembered
        if self._memory.knows(credential) or self._wanted(credential) in self._under_way:
            return await self._found(credential)
        return await self._guessed(credential, self._client(request))

    async def _guessed(self, credential: Credential, client: str) -> Asker:
        allowance = self._guesses.hit(client)
        if not allowance.allowed:
            raise Spent(allowance)
        asker = await self._found(credential)
        if asker.signed_in is not None:
            self._guesses.take_back(client)
        return asker

    async def _found(self, credential: Credential) -> Asker:
        """Requests that come together look once, and not again within a second of finding somebody."""
        wanted = self._wanted(credential)
        looking = self._under_way.get(wanted)
        if looking is None:
            looking = self._under_way[wanted] = asyncio.create_task(self._remembered(credential))
            looking.add_done_callback(lambda _: self._under_way.pop(wanted))
        return await asyncio.shield(looking)

    def _wanted(self, credential: Credential) -> Hashable:
        """What is looked for: what has been written since may have changed the answer."""
        return credential, self._database.writes

    async def _remembered(self, credential: Credential) -> Asker:
        writes, now = self._database.writes, self._database.now()
        asker = await self._look_up(*credential)
        if asker.signed_in is None:
            self._memory.forget(credential)
        else:
            self._memory.keep(credential, asker, writes, now)
        return asker

    async def _look_up(self, secret: str, by_cookie: bool) -> Asker:
        who: SignedIn | None = None
        if secret.startswith(DEVELOPER_TOKEN):
            if (token := await self._developer_tokens.find(secret)) is not None:
                who = SignedIn(token)
        elif (session := await self._sessions.find(secret)) is not None:
            who = InSession(session, secret, by_cookie)
        if who is None:
            return Asker(None, NotAuthenticated("There is no such session or token."), by_cookie)
        return _judged(who, by_cookie, self._database.now())


def _credential(headers: Mapping[str, str]) -> Credential | None:
    if "Authorization" in headers and (sent := _BEARER.fullmatch(headers["Authorization"])):
        return sent[1], False
    if "Cookie" in headers and (secret := cookies.session_id(headers["Cookie"])):
        return secret, True
    return None


def _judged(who: SignedIn, by_cookie: bool, now: datetime) -> Asker:
    """Time ends what somebody holds; their server ends only what was granted, and they are still known."""
    refusal = None if who.account.ended_because is None else SessionExpired(who.account.ended_because)
    return Asker(who if who.account.expires_at > now else None, refusal, by_cookie)
