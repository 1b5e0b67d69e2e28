"""`api`: one worker of the API."""

from contextlib import nullcontext

import uvloop

from readapi import port, processes, worker
from readapi.commands.internet import open_network
from readapi.commands.keep import keeper
from readapi.commands.on_state import explained
from readapi.commands.start import FAILED, begin, stop


def api(*, supervised: bool = False, shared: bool = False, name: str = processes.ALONE) -> None:
    """Serve the API from an index that another process keeps.

    Parameters
    ----------
    shared
        Listen beside the other workers of a service that has claimed the port.
    name
        What metrics call this worker.
    """
    settings = begin("api", supervised)

    async def run() -> None:
        async with open_network(settings) as network:
            await worker.run(settings, network, keeper(), name)

    try:
        with nullcontext() if shared else port.claimed(settings):
            explained(lambda: uvloop.run(run()))
    except port.PortTaken as error:
        stop(FAILED, str(error))
