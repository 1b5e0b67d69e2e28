"""`serve`: the whole service, a process for each part of it."""

import asyncio
import sys

from readapi.commands.start import begin
from readapi.supervisor import Program, supervise


def serve(*, supervised: bool = False) -> None:
    """Run the indexer, the API and the job worker, and restart what dies."""
    settings = begin("serve", supervised)
    api = [Program(f"api-{number}", ("api",)) for number in range(1, settings.workers + 1)]
    sys.exit(asyncio.run(supervise([Program("index", ("index",)), *api, Program("work", ("work",))])))
