"""`keep`: the process that refreshes a worker's grants. Workers start it; people do not."""

import asyncio
import sys

from readapi import people
from readapi.commands.internet import open_network
from readapi.commands.on_state import explained
from readapi.commands.start import begin
from readapi.keeper import Keeper


def keep() -> None:
    """Refresh grants for the worker at standard input, and outlive it."""
    settings = begin("keep")

    async def refresh() -> None:
        async with open_network(settings) as network:
            await people.keep(settings, network)

    explained(lambda: asyncio.run(refresh()))


def keeper() -> Keeper:
    """A worker's end of the line to such a process."""
    return Keeper([sys.executable, "-m", "readapi", "keep"])
