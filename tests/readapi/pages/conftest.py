"""One published catalogue and one browser for all tests of pages: they only look."""

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.readapi.pages import browser
from tests.readapi.pages.browser import Browser
from tests.readapi.pages.published import Published, published


@pytest_asyncio.fixture(loop_scope="session", scope="package")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Published]:
    """Records of three people, served by a worker."""
    async with published(tmp_path_factory.mktemp("published")) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session", scope="package")
async def running_chromium() -> AsyncIterator[Browser]:
    """A headless Chromium. CI must have one; elsewhere tests without one are skipped."""
    found = browser.find_chromium()
    if found is None:
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("no chromium here; on Debian: apt-get install chromium")
    async with browser.launched(found) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def chromium(running_chromium: Browser) -> AsyncIterator[Browser]:
    """The browser, with no tab left over from the test before."""
    yield running_chromium
    await running_chromium.close_pages()
