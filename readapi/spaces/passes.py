"""Obtains Space credentials, and caches them and refusals in memory until they expire."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from pydantic import BaseModel, ValidationError

from readapi.errors import PdsRefused, PdsUnavailable, SpaceRefused
from readapi.oauth import keys
from readapi.oauth.network import Known
from readapi.oauth.responses import Token
from readapi.pds.repo import Author
from readapi.pds.xrpc import NO_SENSE, Xrpc
from readapi.spaces import credentials
from readapi.spaces.credentials import InvalidCredential
from readapi.spaces.hosts import HostRefusal, SpaceHosts
from readapi.state.db.database import Clock, utc_now
from readapi.state.sign_in.grants import GrantId
from schemas.recent import Recent
from schemas.spaces import Space

log = structlog.get_logger()

EARLY = timedelta(seconds=60)  # before its expiry a credential is renewed: an answer takes a while to send
REFUSED_FOR = timedelta(seconds=60)
MOST = 10_000
NO_SPACES = "Your server does not issue tokens for private Spaces."
NOT_LET_IN = "The private Space does not admit you."
NOT_THIS_SERVICE = "The private Space does not admit this service."


class _Delegation(BaseModel):
    token: Token


class _Credential(BaseModel):
    credential: Token


CacheKey = tuple[GrantId, Space]


@dataclass(frozen=True, slots=True)
class SpaceCredential:
    """A credential for one account to read one Space, with the key that it is bound to."""

    credential: str = field(repr=False)
    key: str = field(repr=False)
    until: datetime


@dataclass(frozen=True, slots=True)
class _Refused:
    sentence: str
    until: datetime


class SpaceCredentialCache:
    """A credential belongs to one grant: another session of the same account may have fewer scopes."""

    def __init__(self, xrpc: Xrpc, hosts: SpaceHosts, clock: Clock = utc_now) -> None:
        self._xrpc = xrpc
        self._hosts = hosts
        self._clock = clock
        self._held: Recent[CacheKey, SpaceCredential | _Refused] = Recent(MOST)
        self._under_way: dict[CacheKey, asyncio.Task[SpaceCredential]] = {}

    async def find(self, who: Author, space: Space) -> SpaceCredential:
        """The account's credential for a Space. Raises SpaceRefused, also for a while after a refusal.

        Also raises PdsUnavailable, and ScopeUpgradeRequired or SessionExpired from the account's own PDS.
        """
        whose = who.grant_id, space
        held = self._held.find(whose)
        if held is not None and held.until > self._clock():
            if isinstance(held, _Refused):
                raise SpaceRefused(held.sentence)
            return held
        asking = self._under_way.get(whose)
        if asking is None:
            asking = self._under_way[whose] = asyncio.create_task(self._ask(who, space))
            asking.add_done_callback(lambda done: self._settle(whose, done))
        return await asyncio.shield(asking)

    def refuse(self, who: Author, space: Space, sentence: str = NOT_LET_IN) -> SpaceRefused:
        """Replace the credential by a cached refusal, after a server of the Space rejected it."""
        self._held.keep((who.grant_id, space), _Refused(sentence, self._clock() + REFUSED_FOR))
        return SpaceRefused(sentence)

    async def _ask(self, who: Author, space: Space) -> SpaceCredential:
        """Request a credential, again if the authority has moved or has a new key since it was resolved."""
        known = await self._hosts.of(space.authority)
        try:
            return await self._let_in(who, space, known)
        except SpaceRefused:
            anew = await self._hosts.of(space.authority, anew=True)
            if (anew.space_host, anew.space_key) == (known.space_host, known.space_key):
                raise
            return await self._let_in(who, space, anew)

    async def _let_in(self, who: Author, space: Space, authority: Known) -> SpaceCredential:
        token, key = await self._delegation(who, space), keys.generate_key()
        if authority.space_host is None or authority.space_key is None:
            raise self.refuse(who, space)
        response = await self._hosts.exchange(authority.space_host, key, token, str(space))
        if response.status != 200:
            is_ours = HostRefusal.of(response).error == "AppNotAuthorized"
            raise self.refuse(who, space, NOT_THIS_SERVICE if is_ours else NOT_LET_IN)
        try:
            credential = _Credential.model_validate_json(response.body).credential
            thumbprint = keys.read_private_key(key).thumbprint()
            until = credentials.verify_credential(
                credential, space, thumbprint, authority.space_key, self._clock()
            )
        except (ValidationError, InvalidCredential) as error:
            log.warning("a Space's credential is of no use", host=authority.space_host)
            raise self.refuse(who, space) from error
        held = SpaceCredential(credential, key, until - EARLY)
        self._held.keep((who.grant_id, space), held)
        return held

    async def _delegation(self, who: Author, space: Space) -> str:
        """A delegation token from the account's PDS, which lets this service act for it."""
        try:
            answer = await self._xrpc.ask(
                who.grant_id, "com.atproto.space.getDelegationToken", {"space": str(space)}
            )
        except PdsRefused as refusal:
            raise self.refuse(who, space, NO_SPACES) from refusal
        try:
            return _Delegation.model_validate(answer).token
        except ValidationError as error:
            raise PdsUnavailable(NO_SENSE) from error

    def _settle(self, whose: CacheKey, done: asyncio.Task[SpaceCredential]) -> None:
        del self._under_way[whose]
        if not done.cancelled():
            done.exception()  # retrieved, even if all callers were cancelled
