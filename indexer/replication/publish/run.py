"""Publishes an indexer's data folder, and listens for nudges of other machines, as the settings say."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from indexer.replication.objects import Objects
from indexer.replication.publish.nudge_server import Nudge, listening
from indexer.replication.publish.publisher import Publisher
from schemas.settings import Settings


async def run_publisher(
    settings: Settings,
    url: str,
    report: Callable[[], dict[str, Any]],
    is_fresh: Callable[[], bool],
    nudge: Nudge,
    watch: Callable[[Callable[[], list[str]]], object],
) -> None:
    """Publish until cancelled. `watch` is handed what gives the failures, for the health report."""
    objects = Objects.open(url)
    publisher = Publisher(
        objects, settings.data_dir, report, is_fresh, settings.nudge_url, settings.lease_seconds
    )
    watch(lambda: publisher.failures)
    nudges: AbstractAsyncContextManager[None] = nullcontext()
    if settings.nudge_url is not None and settings.cluster_key is not None:
        nudges = listening(settings.nudge_url, settings.cluster_key.get_secret_value(), nudge)
    async with nudges:
        await publisher.run()
