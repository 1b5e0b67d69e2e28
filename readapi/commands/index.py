"""`index`: the indexer alone."""

import asyncio

from indexer import service
from readapi.commands.index_errors import explained
from readapi.commands.start import Supervised, begin


def index(*, supervised: Supervised = False) -> None:
    """Follow the network and maintain the index, without the API."""
    settings = begin("index", supervised)
    explained(lambda: asyncio.run(service.run_indexer(settings)))
