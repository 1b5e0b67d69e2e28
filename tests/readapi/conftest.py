"""What the API's tests share: one worker over a little music, for as long as a module's tests only read."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.readapi.music import Music, playing


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def music(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Music]:
    """A worker. Tests that use it share the module's event loop."""
    async with playing(tmp_path_factory.mktemp("music")) as served:
        yield served
