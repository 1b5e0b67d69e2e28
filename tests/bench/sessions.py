"""A session in the state of a service under measurement."""

import asyncio
from pathlib import Path

from readapi.http.request import cookies
from readapi.state.state import open_state
from schemas.settings import Settings
from tests.readapi.state.people import account


def begun(data_dir: Path) -> str:
    """Sign somebody in; returns their cookie."""

    async def begin() -> str:
        async with open_state(Settings(data_dir=data_dir)) as state:
            return await state.sessions.begin(await account(state))

    return f"{cookies.SESSION}={asyncio.run(begin())}"
