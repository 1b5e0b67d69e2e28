"""`keep`: the process that refreshes a worker's grants. Started by workers, not by people."""

import asyncio
import sys

from readapi.commands.network import open_network
from readapi.commands.start import begin
from readapi.commands.state_errors import explained
from readapi.pds.refresh_process import RefreshProcess
from readapi.processes import account_services


def keep() -> None:
    """Refresh grants for the worker at standard input, and outlive it."""
    settings = begin("keep")

    async def refresh() -> None:
        async with open_network(settings) as network:
            await account_services.run_keeper(settings, network)

    explained(lambda: asyncio.run(refresh()))


def keeper() -> RefreshProcess:
    """A worker's client of its refresh process."""
    return RefreshProcess([sys.executable, "-m", "readapi", "keep"])
