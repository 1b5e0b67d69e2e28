"""The process that follows: keeps a data folder up to date, and answers on its socket like an indexer."""

import asyncio

import aiohttp
import structlog

from indexer.control.prove import Prover
from indexer.control.socket import Control
from indexer.network import connect
from indexer.network.http.throttle import HostTurns
from indexer.replication.follow.follower import Follower
from indexer.replication.follow.remote_nudges import RemoteNudges
from indexer.replication.objects import Objects
from schemas import stop_signals
from schemas.settings import Settings

log = structlog.get_logger()


async def run_follower(settings: Settings, url: str) -> None:
    """Follow the object store at `url` until SIGTERM or SIGINT. Raises StoreError if the folder is used."""
    stop = stop_signals.stop_event()
    follower = Follower(Objects.open(url), settings.data_dir)
    key = settings.cluster_key.get_secret_value() if settings.cluster_key else None
    async with connect.open_internet(settings) as ways, aiohttp.ClientSession() as session:
        # Proofs are fetched from the accounts' servers here, as an indexer does: they need no index.
        prover = Prover(ways.resolver, ways.outbound, HostTurns(own=[settings.plc_url]))
        nudges = RemoteNudges(session, key, lambda: follower.shown)
        async with Control(
            settings.data_dir,
            health=follower.report,
            metrics=follower.metrics,
            nudge=nudges.nudge,
            prove=prover.prove,
        ):
            following = asyncio.create_task(follower.run())
            stopping = asyncio.create_task(stop.wait())
            log.info("following", data_dir=str(settings.data_dir))
            await asyncio.wait((following, stopping), return_when=asyncio.FIRST_COMPLETED)
            for task in (following, stopping):
                task.cancel()
            ended, _ = await asyncio.gather(following, stopping, return_exceptions=True)
            if isinstance(ended, Exception):
                raise ended
