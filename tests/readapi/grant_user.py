"""A program that uses one grant many times at once, as a worker would, with a keeper beside it.

`use GRANT URL TIMES` prints the access tokens that it got; `keep URL` is the keeper.
"""

import asyncio
import os
import sys

import structlog

from readapi.pds.grants import Grants
from readapi.pds.refresh import TokenRefresh
from readapi.pds.refresh_process import RefreshProcess, run_refresh_process
from readapi.state.sign_in.grants import GrantId
from readapi.state.state import open_state
from schemas.settings import Settings
from tests.patience import PATIENCE_SECONDS
from tests.readapi.token_server import TokenClient


async def run_keeper(settings: Settings, url: str) -> None:
    async with open_state(settings) as state:
        await run_refresh_process(TokenRefresh(state.grants, state.locks, TokenClient(url)))


async def use(settings: Settings, grant_id: GrantId, url: str, times: int) -> None:
    keeper = RefreshProcess([sys.executable, "-m", "tests.readapi.grant_user", "keep", url])
    async with open_state(settings) as state:
        grants = Grants(state.grants, keeper, patience_seconds=PATIENCE_SECONDS)
        fresh = await asyncio.gather(*(grants.fresh(grant_id) for _ in range(times)))
        print(*{grant.tokens.access_token for grant in fresh})
        await grants.close()
    await keeper.close()


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    ours = Settings.from_environment(os.environ)
    match sys.argv[1:]:
        case ["keep", url]:
            asyncio.run(run_keeper(ours, url))
        case ["use", grant_id, url, times]:
            asyncio.run(use(ours, GrantId(grant_id), url, int(times)))
