"""The indexer as a process of its own, for tests that kill it: configured like the real one."""

import asyncio
import os

from indexer import service
from schemas.settings import Settings

if __name__ == "__main__":
    asyncio.run(service.run(Settings.from_environment(os.environ)))
