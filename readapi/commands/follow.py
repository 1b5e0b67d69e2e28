"""`follow`: keeps a data folder up to date from an object store, on a machine without an indexer."""

import asyncio

from indexer.replication.follow.run import run_follower
from readapi.commands.index_errors import explained
from readapi.commands.start import Supervised, begin, publish_url


def follow(*, supervised: Supervised = False) -> None:
    """Copy the index from the object store at FMSVC_PUBLISH_URL, without the API."""
    settings = begin("follow", supervised)
    url = publish_url(settings)
    explained(lambda: asyncio.run(run_follower(settings, url)))
