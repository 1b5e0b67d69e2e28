"""All webhooks of the service: one process delivers them, each by a task of its own."""

import asyncio
from typing import Final

import structlog

from readapi.live.feed import Feed
from readapi.oauth.network import Network
from readapi.state.state import State
from readapi.state.webhooks import Webhook
from readapi.webhooks.delivery import Delivery
from readapi.webhooks.places import Places

LOCK: Final = "webhooks"  # held by the process that delivers
LOOK_SECONDS: Final = 0.5
AGAIN_SECONDS: Final = 5.0

log = structlog.get_logger()


class Deliveries:
    """Starts what is due, and stops what was removed, paused or lost its token. Call `look` repeatedly."""

    def __init__(self, state: State, network: Network, feed: Feed) -> None:
        self._state = state
        self._delivery = Delivery(state, network, feed, Places())
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def look(self) -> None:
        """Compare what runs with what is due."""
        due = {webhook.id: webhook for webhook in await self._state.webhooks.due()}
        for webhook_id, task in list(self._tasks.items()):
            if webhook_id not in due:
                task.cancel()
            if task.done():
                del self._tasks[webhook_id]
        for webhook_id in due.keys() - self._tasks.keys():
            self._tasks[webhook_id] = asyncio.create_task(self._run(due[webhook_id]))

    async def close(self) -> None:
        """Stop all. What was not accepted is delivered by the next process."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _run(self, webhook: Webhook) -> None:
        try:
            await self._delivery.run(webhook)
        except Exception:
            log.exception("deliveries stopped", webhook=webhook.id)
            await asyncio.sleep(AGAIN_SECONDS)  # else a lasting fault is met again at each look
