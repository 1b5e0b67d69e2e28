"""Authentication: the account behind the session cookie, bearer token or service token of a request."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime

from aiohttp import hdrs, web

from readapi.errors import NotAuthenticated, SessionExpired
from readapi.http.limits.rate_limits import Limiter, Spent
from readapi.http.request import api_keys, cookies
from readapi.http.response import xrpc
from readapi.http.service_tokens import ServiceTokens
from readapi.state.db.one_time import DEVELOPER_TOKEN
from readapi.state.read_cache import ReadCache
from readapi.state.sign_in.developer_tokens import DeveloperToken
from readapi.state.sign_in.grants import GrantId
from readapi.state.sign_in.sessions import Session
from readapi.state.state import State
from schemas.access import Viewer
from schemas.ids import INVALID_HANDLE, Did, Handle

Credential = tuple[str, bool]  # a secret, and whether a cookie brought it

_AMBIGUOUS = (
    "Two different cookies of a session came, and one of them is not from here. "
    "Delete the cookies of this site and its neighbours, then sign in."
)
_NO_GRANT = GrantId("")
_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)
_TOKEN = re.compile(r"(?:token|bearer) +(\S+)", re.IGNORECASE)  # as clients of ListenBrainz send one
_LISTENS = "/1/"  # whose clients these are
_SERVICE_TOKEN = re.compile(
    r"[^.]+\.[^.]+\.[^.]+"
)  # a signed JWT; sessions and developer tokens have no dots


@dataclass(frozen=True, slots=True)
class VouchedAccount:
    """The account of a service token, which says who asks and grants nothing."""

    did: Did
    handle: Handle = INVALID_HANDLE
    grant_id: GrantId = _NO_GRANT
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The account of a valid session, developer token or service token."""

    account: Session | DeveloperToken | VouchedAccount

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
        """The scopes that the account granted."""
        return self.account.scopes

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.did)

    @property
    def name(self) -> str:
        """The name shown on pages: the handle, else the DID."""
        return self.did if self.handle == INVALID_HANDLE else f"@{self.handle}"


def viewer_of(who: SignedIn | None) -> Viewer | None:
    """The account as a viewer; None for an anonymous request."""
    return None if who is None else who.viewer


@dataclass(frozen=True, slots=True)
class InSession(SignedIn):
    """The account of a session, not of a developer token."""

    account: Session
    session_id: str = field(repr=False)
    by_cookie: bool

    @property
    def key(self) -> bytes:
        """The key that the session is stored under."""
        return self.account.key


@dataclass(frozen=True, slots=True)
class Requester:
    """The result of looking up a request's credential. `refusal`: why it is no longer valid, if so."""

    signed_in: SignedIn | None
    refusal: NotAuthenticated | None
    by_cookie: bool

    @property
    def renewed_cookie(self) -> str | None:
        """The session id for a renewed cookie, when this request renewed the session."""
        who = self.signed_in
        if isinstance(who, InSession) and who.by_cookie and who.account.renewed:
            return who.session_id
        return None

    @property
    def viewer(self) -> SignedIn | None:
        """The account, as long as the credential is valid."""
        return self.signed_in if self.refusal is None else None


class Authenticator:
    """Looks credentials up. The Authorization header takes precedence over the cookie.

    Under `/rest/` only the API key in the address is one.

    `guesses` limits look-ups of credentials that are not known to be valid, per `client`, so that a client
    which tries out wrong ones does not slow down accounts that are signed in already. Service tokens are
    accepted by the methods of XRPC alone, and refused if they are not valid.
    """

    def __init__(
        self,
        state: State,
        guesses: Limiter,
        client: Callable[[web.Request], str],
        service_tokens: ServiceTokens | None = None,
    ) -> None:
        self._guesses = guesses
        self._service_tokens = service_tokens
        self._client = client
        self._database = state.database
        self._memory = ReadCache[Requester](state.database)
        self._under_way: dict[Hashable, asyncio.Task[Requester]] = {}
        self._sessions = state.sessions
        self._developer_tokens = state.developer_tokens

    def find(self, request: web.Request) -> Awaitable[Requester | None] | None:
        """The requester; None for a request without credentials.

        Raises Spent, and the refusals of service tokens.
        """
        headers = request.headers
        has_header = hdrs.COOKIE in headers or hdrs.AUTHORIZATION in headers
        if not has_header and not api_keys.is_under_rest(request):
            return None
        return self._find(request)

    async def _find(self, request: web.Request) -> Requester | None:
        if self._service_tokens is not None and (token := _service_token(request)) is not None:
            return await self._vouched(self._service_tokens, *token, self._client(request))
        try:
            credential = _credential(request)
        except cookies.Ambiguous:
            return Requester(None, NotAuthenticated(_AMBIGUOUS), by_cookie=True)
        return None if credential is None else await self._known(credential, self._client(request))

    async def find_developer_token(self, token: str, client: str) -> Requester:
        """The requester of a developer token that came in a request's body. Raises Spent."""
        return await self._known((token, False), client)

    async def _known(self, credential: Credential, client: str) -> Requester:
        if (remembered := self._memory.recall(credential)) is not None:
            return remembered
        if self._memory.knows(credential) or self._wanted(credential) in self._under_way:
            return await self._found(credential)
        return await self._guessed(credential, client)

    async def _vouched(self, tokens: ServiceTokens, token: str, method: str, client: str) -> Requester:
        allowance = self._guesses.hit(client)
        if not allowance.allowed:
            raise Spent(allowance)
        did = await tokens.verify(token, method, client, self._database.now())
        self._guesses.take_back(client)
        return Requester(SignedIn(VouchedAccount(did)), None, by_cookie=False)

    async def _guessed(self, credential: Credential, client: str) -> Requester:
        allowance = self._guesses.hit(client)
        if not allowance.allowed:
            raise Spent(allowance)
        requester = await self._found(credential)
        if requester.signed_in is not None:
            self._guesses.take_back(client)
        return requester

    async def _found(self, credential: Credential) -> Requester:
        """Concurrent requests share one look-up, and a valid result is cached for a second."""
        wanted = self._wanted(credential)
        looking = self._under_way.get(wanted)
        if looking is None:
            looking = self._under_way[wanted] = asyncio.create_task(self._remembered(credential))
            looking.add_done_callback(lambda _: self._under_way.pop(wanted))
        return await asyncio.shield(looking)

    def _wanted(self, credential: Credential) -> Hashable:
        """The key of a look-up: includes the write count, since a write may change the result."""
        return credential, self._database.writes

    async def _remembered(self, credential: Credential) -> Requester:
        writes, now = self._database.writes, self._database.now()
        requester = await self._look_up(*credential)
        if requester.signed_in is None:
            self._memory.forget(credential)
        else:
            self._memory.keep(credential, requester, writes, now)
        return requester

    async def _look_up(self, secret: str, by_cookie: bool) -> Requester:
        now = self._database.now()
        if secret.startswith(DEVELOPER_TOKEN):
            if (token := await self._developer_tokens.find(secret)) is not None:
                return _judge_account(SignedIn(token), token, by_cookie, now)
        elif (session := await self._sessions.find(secret)) is not None:
            return _judge_account(InSession(session, secret, by_cookie), session, by_cookie, now)
        return Requester(None, NotAuthenticated("There is no such session or token."), by_cookie)


def _credential(request: web.Request) -> Credential | None:
    if api_keys.is_under_rest(request):
        key = api_keys.read_api_key(request)
        return None if key is None else (key, False)
    headers = request.headers
    scheme = _TOKEN if request.raw_path.startswith(_LISTENS) else _BEARER
    if "Authorization" in headers and (sent := scheme.fullmatch(headers["Authorization"])):
        return sent[1], False
    if "Cookie" in headers and (secret := cookies.read_session_id(cookies.read_cookies(request))):
        return secret, True
    return None


def _service_token(request: web.Request) -> tuple[str, str] | None:
    """The service token of a request for a method of XRPC, and the method."""
    if not request.raw_path.startswith(xrpc.PREFIX):
        return None
    sent = _BEARER.fullmatch(request.headers.get("Authorization", ""))
    if sent is None or not _SERVICE_TOKEN.fullmatch(sent[1]):
        return None
    return sent[1], request.raw_path.removeprefix(xrpc.PREFIX).partition("?")[0]


def _judge_account(
    who: SignedIn, account: Session | DeveloperToken, by_cookie: bool, now: datetime
) -> Requester:
    """An expired credential has no account; an ended grant leaves the account known, with a refusal."""
    refusal = None if account.ended_because is None else SessionExpired(account.ended_because)
    return Requester(who if account.expires_at > now else None, refusal, by_cookie)
