"""An account's webhooks: created, changed and listed with its developer tokens or in a session."""

from datetime import datetime
from typing import NamedTuple

from readapi.errors import Conflict, InvalidRequest, NotFound
from readapi.http.viewer import InSession, SignedIn
from readapi.index.lookups import Index
from readapi.live.chosen import read_filter
from readapi.live.feed import Feed
from readapi.oauth.errors import Unavailable
from readapi.oauth.network import Network
from readapi.state.sign_in.developer_tokens import DeveloperToken
from readapi.state.state import State
from readapi.state.webhooks import NewWebhook, TooManyWebhooks, Webhook
from readapi.webhooks.message import read_wanted, write_wanted
from readapi.webhooks.signature import new_secret
from schemas import datetimes
from schemas.api import webhooks as shapes
from schemas.settings import Settings


class Created(NamedTuple):
    """A webhook, and its secret, which cannot be shown again."""

    webhook: Webhook
    secret: str


class OwnWebhooks:
    """What the owner of a developer token may do. A token acts on its own webhooks alone."""

    def __init__(self, settings: Settings, state: State, index: Index, feed: Feed, network: Network) -> None:
        self._most = settings.webhooks
        self._state = state
        self._index = index
        self._feed = feed
        self._network = network

    async def create(self, who: SignedIn, sent: shapes.WantedWebhook) -> Created:
        """Create a webhook. Raises InvalidRequest, NotFound and Conflict."""
        token_id = await self._token(who, sent.token_id)
        names = ("wanted_collections", "wanted_dids")
        chosen = read_filter(
            self._index, sent.wanted_collections, sent.wanted_dids, sent.tags, sent.artists, names
        )
        try:
            self._network.check_address(sent.url)
        except Unavailable as error:
            raise InvalidRequest.of_field("url", f"This address cannot be used: {error.__cause__}.") from None
        self._feed.require(sent.cursor)
        now = int(self._state.database.now().timestamp() * 1_000_000)  # positions are Unix microseconds
        position = (self._feed.position or now) if sent.cursor is None else sent.cursor
        new = NewWebhook(
            token_id, who.did, sent.url, write_wanted(chosen, sent.cards), self._feed.log, position
        )
        secret = new_secret()
        try:
            return Created(await self._state.webhooks.add(new, secret, self._most), secret)
        except TooManyWebhooks as error:
            raise Conflict(str(error)) from None

    async def list_own(self, who: SignedIn) -> shapes.Webhooks:
        """The webhooks of the account, or of the token that asks."""
        found = await self._state.webhooks.of(who.did, _only_token(who))
        ended = {token.id for token in await self._tokens(who) if token.ended_because is not None}
        return shapes.Webhooks(webhooks=[describe(one, is_ended=one.token_id in ended) for one in found])

    async def rotate(self, who: SignedIn, webhook_id: str) -> tuple[str, datetime]:
        """Replace the secret; returns it, and until when the one before signs too. Raises NotFound."""
        await self._require(who, webhook_id)
        secret = new_secret()
        return secret, await self._state.webhooks.rotate(webhook_id, secret)

    async def resume(self, who: SignedIn, webhook_id: str) -> shapes.Webhook:
        """Try again at once, also what is paused. Raises NotFound."""
        await self._require(who, webhook_id)
        await self._state.webhooks.resume(webhook_id)
        return describe(await self._require(who, webhook_id))

    async def remove(self, who: SignedIn, webhook_id: str) -> None:
        """Delete a webhook. Raises NotFound."""
        await self._require(who, webhook_id)
        await self._state.webhooks.remove(webhook_id)

    async def _require(self, who: SignedIn, webhook_id: str) -> Webhook:
        found = await self._state.webhooks.find(webhook_id)
        only = _only_token(who)
        if found is None or found.did != who.did or (only is not None and found.token_id != only):
            raise NotFound
        return found

    async def _token(self, who: SignedIn, asked: str | None) -> str:
        """The id of the developer token that a new webhook belongs to."""
        own = _only_token(who)
        wanted = asked or own
        if wanted is None:
            raise InvalidRequest.of_field("token_id", "Name the developer token that it belongs to.")
        valid = {token.id for token in await self._tokens(who) if token.ended_because is None}
        if wanted not in valid or (own is not None and own != wanted):
            raise InvalidRequest.of_field("token_id", "You have no such valid developer token.")
        return wanted

    async def _tokens(self, who: SignedIn) -> list[DeveloperToken]:
        return await self._state.developer_tokens.of(who.did)


def describe(webhook: Webhook, *, is_ended: bool = False) -> shapes.Webhook:
    """A webhook as the API shows it."""
    wanted = read_wanted(webhook.wanted)
    return shapes.Webhook(
        id=webhook.id,
        token_id=webhook.token_id,
        url=webhook.url,
        wanted_collections=sorted(wanted.filter.collections),
        wanted_dids=sorted(wanted.filter.dids),
        tags=sorted(wanted.filter.tags),
        artists=sorted(wanted.filter.artists),
        cards=wanted.cards,
        cursor=webhook.position,
        created_at=datetimes.render(webhook.created_at),
        delivered_at=_time(webhook.delivered_at),
        state=_state(webhook, is_ended=is_ended),
        failing_since=_time(webhook.failing_since),
        next_attempt_at=_time(webhook.next_attempt_at),
        last_error=webhook.last_error,
        paused_because=webhook.paused_because,
    )


def _state(webhook: Webhook, *, is_ended: bool) -> shapes.State:
    if is_ended:
        return "ended"
    if webhook.paused_because is not None:
        return "paused"
    return "retrying" if webhook.failing_since is not None else "active"


def _time(instant: datetime | None) -> str | None:
    return None if instant is None else datetimes.render(instant)


def _only_token(who: SignedIn) -> str | None:
    """The id of the requesting token; None in a session, which may act on all webhooks of the account."""
    return (
        who.account.id if not isinstance(who, InSession) and isinstance(who.account, DeveloperToken) else None
    )
