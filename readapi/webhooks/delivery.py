"""One webhook's deliveries: one after the other, each repeated until it is accepted."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from prometheus_client import Counter

from readapi.live.feed import Feed
from readapi.oauth.errors import Unavailable
from readapi.oauth.network import Network
from readapi.state.db.encryption import Undecryptable
from readapi.state.state import State
from readapi.state.webhooks import Webhook
from readapi.webhooks.inbox import Inbox, Parcel
from readapi.webhooks.message import message_id, read_wanted, render_body
from readapi.webhooks.places import Places
from readapi.webhooks.signature import signed_headers
from schemas.backoff import Backoff

PATIENCE: Final = timedelta(days=3)  # of failures in a row, until a webhook is paused
BACKOFF: Final = Backoff(first_seconds=5.0, longest_seconds=2 * 3600.0)
TIMEOUT_SECONDS: Final = 15.0
MOST_ANSWER_BYTES: Final = 64 << 10
IDLE: Final = timedelta(minutes=10)  # after which the position of a webhook that wants little is stored
GONE: Final = 410
_PAUSING: Final = (429, 503)  # with Retry-After

_DELIVERIES = Counter("fmsvc_webhook_deliveries", "Deliveries of webhooks, by outcome.", ["outcome"])


class Refused(Exception):
    """A delivery was not accepted. `pause`: what the receiver asked for. `is_final`: it wants no more."""

    def __init__(self, reason: str, pause: timedelta = timedelta(0), *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.pause = pause
        self.is_final = is_final


class Delivery:
    """Follows the feed for one webhook until a delivery fails. `places` bounds the requests of all."""

    def __init__(self, state: State, network: Network, feed: Feed, places: Places) -> None:
        self._state = state
        self._network = network
        self._feed = feed
        self._places = places

    async def run(self, webhook: Webhook) -> None:
        """Deliver until a delivery is refused, too much waits, or this is cancelled.

        Raises what ended the feed, after what had arrived before was delivered.
        """
        inbox = Inbox(read_wanted(webhook.wanted), webhook.position, webhook.sending_to)
        incomplete = self._feed.is_outdated(webhook.position)
        following = asyncio.create_task(self._feed.serve(inbox, webhook.position))
        following.add_done_callback(lambda _: inbox.end())
        try:
            if webhook.sending_to > webhook.position:
                if (interrupted := await inbox.interrupted_parcel()) is None:
                    await following
                    return
                await self._deliver(webhook, interrupted, is_incomplete=incomplete)
                incomplete = False
            while (next_one := await self._next(webhook, inbox)) is not None:
                await self._state.webhooks.begin(webhook.id, next_one.position)
                await self._deliver(webhook, next_one, is_incomplete=incomplete)
                incomplete = False
            await following
        except Refused as refusal:
            await self._note_failure(webhook, refusal)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def _deliver(self, webhook: Webhook, parcel: Parcel, *, is_incomplete: bool) -> None:
        """Send one delivery. Raises Refused. What was withdrawn meanwhile may leave nothing to send."""
        if parcel.changes:
            body = render_body(parcel, is_incomplete=is_incomplete)
            await self._send(webhook, message_id(webhook.id, parcel.position), body)
            _DELIVERIES.labels("accepted").inc()
        await self._state.webhooks.advance(webhook.id, parcel.position, is_delivered=bool(parcel.changes))

    async def _send(self, webhook: Webhook, named: str, body: bytes) -> None:
        try:
            signing = await self._state.webhooks.secrets(webhook.id)
        except Undecryptable as error:
            raise Refused("The secret cannot be read here; rotate it.", is_final=True) from error
        now = int(self._state.database.now().timestamp())
        headers = {"Content-Type": "application/json", **signed_headers(signing, named, now, body)}
        try:
            async with self._places.of(webhook.did):
                answer = await self._network.send(
                    "POST",
                    webhook.url,
                    headers=headers,
                    body=body,
                    max_bytes=MOST_ANSWER_BYTES,
                    timeout_seconds=TIMEOUT_SECONDS,
                )
        except Unavailable as error:
            raise Refused(f"It cannot be reached: {error.__cause__ or error}."[:200]) from error
        if answer.status == GONE:
            raise Refused("It answered with status 410: it wants no more.", is_final=True)
        if not 200 <= answer.status < 300:
            raise Refused(
                f"It answered with status {answer.status}.", _asked_pause(answer.status, answer.headers)
            )

    async def _note_failure(self, webhook: Webhook, refusal: Refused) -> None:
        _DELIVERIES.labels("refused").inc()
        current = await self._state.webhooks.find(webhook.id)
        if current is None:
            return
        failing = self._state.database.now() - (current.failing_since or self._state.database.now())
        because = None
        if refusal.is_final:
            because = str(refusal)
        elif failing >= PATIENCE:
            because = f"Nothing was accepted for {PATIENCE.days} days. {refusal}"
        pause = max(timedelta(seconds=BACKOFF.pause(current.failures + 1)), refusal.pause)
        await self._state.webhooks.fail(current, str(refusal), pause, because)

    async def _next(self, webhook: Webhook, inbox: Inbox) -> Parcel | None:
        """The next parcel. While nothing is wanted, stores how far the feed was followed."""
        while True:
            try:
                async with asyncio.timeout(IDLE.total_seconds()):
                    return await inbox.next_parcel()
            except TimeoutError:
                await self._state.webhooks.advance(webhook.id, inbox.position, is_delivered=False)


def _asked_pause(status: int, headers: Mapping[str, str]) -> timedelta:
    """What Retry-After asks for, in seconds, up to the longest pause."""
    asked = headers.get("Retry-After", "")
    if status not in _PAUSING or not asked.isdecimal():
        return timedelta(0)
    return timedelta(seconds=min(int(asked[:9]), BACKOFF.longest_seconds))
