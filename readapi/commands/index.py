"""`index`: the indexer alone."""

import asyncio

from indexer import service
from readapi.commands.on_index import explained
from readapi.commands.start import begin


def index(*, supervised: bool = False) -> None:
    """Follow the network and keep the index; the API runs elsewhere."""
    settings = begin("index", supervised)
    explained(lambda: asyncio.run(service.run(settings)))
