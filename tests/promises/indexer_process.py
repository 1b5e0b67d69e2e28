"""The indexer as a process of its own, for tests that kill it: configured like the real one."""

import asyncio
import os

from indexer import service
from readapi import logs
from schemas.settings import Settings

if __name__ == "__main__":
    settings = Settings.from_environment(os.environ)
    logs.configure(settings, "index")
    asyncio.run(service.run(settings))
