"""Which Space lets whom in: asked once, and remembered in memory for as long as its answer is good."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from pydantic import BaseModel, ValidationError

from readapi.errors import PdsRefused, PdsUnavailable, SpaceRefused
from readapi.oauth import keys
from readapi.oauth.answers import Token
from readapi.oauth.network import Known
from readapi.pds import Author
from readapi.spaces import credentials
from readapi.spaces.credentials import Unfit
from readapi.spaces.hosts import Answered, Hosts
from readapi.state.database import Clock, utc_now
from readapi.state.grants import GrantId
from readapi.xrpc import NO_SENSE, Xrpc
from schemas.spaces import Space

log = structlog.get_logger()

EARLY = timedelta(seconds=60)  # not used any more so long before its end: what it opens takes a while to send
REFUSED_FOR = timedelta(seconds=60)
MOST = 10_000
NO_SPACES = "Your own server does not vouch for you to private Spaces."
NOT_LET_IN = "The private Space does not let you in."
NOT_THIS_SERVICE = "The private Space does not let this service in."


class _Delegation(BaseModel):
    token: Token


class _Credential(BaseModel):
    credential: Token


Whose = tuple[GrantId, Space]


@dataclass(frozen=True, slots=True)
class Pass:
    """What lets one person read one Space, by a key made for it."""

    credential: str = field(repr=False)
    key: str = field(repr=False)
    until: datetime


@dataclass(frozen=True, slots=True)
class _Refused:
    sentence: str
    until: datetime


class Keyring:
    """A pass belongs to one grant: another session of the same person may have been granted less."""

    def __init__(self, xrpc: Xrpc, hosts: Hosts, clock: Clock = utc_now) -> None:
        self._xrpc = xrpc
        self._hosts = hosts
        self._clock = clock
        self._held: OrderedDict[Whose, Pass | _Refused] = OrderedDict()
        self._under_way: dict[Whose, asyncio.Task[Pass]] = {}

    async def find(self, who: Author, space: Space) -> Pass:
        """Let somebody in. Raises SpaceRefused, also for a while after a refusal, and PdsUnavailable.

        And ScopeUpgradeRequired or SessionExpired, when their own server does not let us speak for them.
        """
        whose = who.grant_id, space
        held = self._held.get(whose)
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
        """A server of the Space did not honour the pass, which is of no use any more."""
        self._keep((who.grant_id, space), _Refused(sentence, self._clock() + REFUSED_FOR))
        return SpaceRefused(sentence)

    async def _ask(self, who: Author, space: Space) -> Pass:
        """Ask once more where the authority has moved, or has another key, since it was last looked up."""
        known = await self._hosts.of(space.authority)
        try:
            return await self._let_in(who, space, known)
        except SpaceRefused:
            anew = await self._hosts.of(space.authority, anew=True)
            if (anew.space_host, anew.space_key) == (known.space_host, known.space_key):
                raise
            return await self._let_in(who, space, anew)

    async def _let_in(self, who: Author, space: Space, authority: Known) -> Pass:
        token, key = await self._delegation(who, space), keys.generated()
        if authority.space_host is None or authority.space_key is None:
            raise self.refuse(who, space)
        response = await self._hosts.exchange(authority.space_host, key, token, str(space))
        if response.status != 200:
            is_ours = Answered.of(response).error == "AppNotAuthorized"
            raise self.refuse(who, space, NOT_THIS_SERVICE if is_ours else NOT_LET_IN)
        try:
            credential = _Credential.model_validate_json(response.body).credential
            thumbprint = keys.private(key).thumbprint()
            until = credentials.read(credential, space, thumbprint, authority.space_key, self._clock())
        except (ValidationError, Unfit) as error:
            log.warning("a Space's credential is of no use", host=authority.space_host)
            raise self.refuse(who, space) from error
        held = Pass(credential, key, until - EARLY)
        self._keep((who.grant_id, space), held)
        return held

    async def _delegation(self, who: Author, space: Space) -> str:
        """A token by which their own server says that we ask for them."""
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

    def _keep(self, whose: Whose, held: Pass | _Refused) -> None:
        self._held[whose] = held
        self._held.move_to_end(whose)
        while len(self._held) > MOST:
            self._held.popitem(last=False)

    def _settle(self, whose: Whose, done: asyncio.Task[Pass]) -> None:
        del self._under_way[whose]
        if not done.cancelled():
            done.exception()  # seen, even when everybody who waited has left
