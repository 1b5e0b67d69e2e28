"""`api`: one worker of the API."""

import uvloop

from readapi import worker
from readapi.commands.internet import open_network
from readapi.commands.keep import keeper
from readapi.commands.on_state import explained
from readapi.commands.start import begin


def api(*, supervised: bool = False) -> None:
    """Serve the API from an index that another process keeps."""
    settings = begin("api", supervised)

    async def run() -> None:
        async with open_network(settings) as network:
            await worker.run(settings, network, keeper())

    explained(lambda: uvloop.run(run()))
