"""`work`: the job worker."""

import asyncio

from readapi.commands.internet import open_network
from readapi.commands.keep import keeper
from readapi.commands.on_state import explained
from readapi.commands.start import begin
from readapi.publishing import process


def work(*, supervised: bool = False) -> None:
    """Work at uploads and publishing jobs; the API runs elsewhere."""
    settings = begin("work", supervised)

    async def run() -> None:
        async with open_network(settings) as network:
            await process.run(settings, network, keeper())

    explained(lambda: asyncio.run(run()))
