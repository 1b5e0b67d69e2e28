"""Composition of the deliveries of webhooks, beside the job worker."""

import asyncio

import structlog

from readapi.index.folders import FOLLOW_SECONDS
from readapi.index.lookups import Index
from readapi.index.takedowns import StandingTakedowns
from readapi.live.feed import LOOK_SECONDS as FEED_SECONDS
from readapi.live.feed import Feed
from readapi.oauth.network import Network
from readapi.processes.periodic import repeat
from readapi.state.db.away import LockLost
from readapi.state.state import State
from readapi.webhooks.deliveries import LOCK, LOOK_SECONDS, Deliveries
from schemas.settings import Settings
from schemas.takedowns import LOOK_SECONDS as TAKEDOWN_SECONDS

AGAIN_SECONDS = 5.0

log = structlog.get_logger()


async def deliver_webhooks(settings: Settings, state: State, network: Network) -> None:
    """Deliver until cancelled, as the one process that does. Nothing is opened while there is no webhook."""
    while settings.webhooks:
        try:
            async with state.locks.holding(LOCK):
                while not await state.webhooks.due():  # noqa: ASYNC110  # other processes set no event of ours
                    await asyncio.sleep(LOOK_SECONDS)
                await _check_lock(state)
                await _deliver(settings, state, network)
        except Exception:
            log.exception("webhooks are not delivered")
            await asyncio.sleep(AGAIN_SECONDS)


async def _deliver(settings: Settings, state: State, network: Network) -> None:
    takedowns = StandingTakedowns()
    await takedowns.open(settings)
    index = Index(settings.data_dir, settings.base_url, takedowns)
    await index.follow()
    feed = Feed(settings, index)
    deliveries = Deliveries(state, network, feed)
    try:
        await state.webhooks.adopt(feed.log)
        async with asyncio.TaskGroup() as group:
            group.create_task(repeat(FOLLOW_SECONDS, index.follow))
            group.create_task(repeat(TAKEDOWN_SECONDS, takedowns.refresh))
            group.create_task(repeat(FEED_SECONDS, feed.step))
            group.create_task(repeat(LOOK_SECONDS, deliveries.look))
            group.create_task(_keep_checking(state))
    finally:
        await deliveries.close()
        feed.close()
        await takedowns.close()


async def _keep_checking(state: State) -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        await _check_lock(state)


async def _check_lock(state: State) -> None:
    if not await state.locks.is_held(LOCK):
        raise LockLost("Another process may deliver webhooks.")
