"""`api`: one worker of the API."""

from contextlib import nullcontext

import uvloop

from readapi.commands.keep import keeper
from readapi.commands.network import open_network
from readapi.commands.start import FAILED, Supervised, begin, stop
from readapi.commands.state_errors import explained
from readapi.http import process_metrics
from readapi.processes import api as worker
from readapi.processes import port


def api(*, supervised: Supervised = False, shared: bool = False, name: str = process_metrics.ALONE) -> None:
    """Serve the API from an index that another process maintains.

    Parameters
    ----------
    shared
        Listen beside the other workers of a service that has claimed the port.
    name
        This worker's name in metrics.
    """
    settings = begin("api", supervised)

    async def run() -> None:
        async with open_network(settings) as network:
            await worker.run_api(settings, network, keeper(), name)

    try:
        with nullcontext() if shared else port.claim_port(settings):
            explained(lambda: uvloop.run(run()))
    except port.PortTaken as error:
        stop(FAILED, str(error))
