"""`work`: the job worker."""

import asyncio

from readapi.commands.keep import keeper
from readapi.commands.network import open_network
from readapi.commands.start import Supervised, begin
from readapi.commands.state_errors import explained
from readapi.processes import job_worker


def work(*, supervised: Supervised = False) -> None:
    """Run uploads and publishing jobs, without the API."""
    settings = begin("work", supervised)

    async def run() -> None:
        async with open_network(settings) as network:
            await job_worker.run_job_worker(settings, network, keeper())

    explained(lambda: asyncio.run(run()))
