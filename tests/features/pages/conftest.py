"""What tests of pages share: a published catalogue, one browser, and a service that people can sign in to."""

import itertools
import os
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio

from schemas.settings import Settings
from tests.features.pages import browser
from tests.features.pages.browser import Browser
from tests.features.pages.plain_browser import PlainBrowser
from tests.features.pages.published import Published, published
from tests.network.person import Person
from tests.network.testnet import Network, Testnet
from tests.readapi.door import opened
from tests.readapi.studio import Studio

_NUMBERS = itertools.count(1)


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


@pytest_asyncio.fixture(loop_scope="session", scope="package")
async def shared_net(network: Network) -> AsyncIterator[Testnet]:
    """The session's network, in the event loop of pages."""
    async with Testnet.connect(network) as testnet:
        yield testnet


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def listener(shared_net: Testnet, studio: Studio) -> AsyncIterator[PlainBrowser]:
    """Somebody who is signed in, at a browser that runs no scripts."""
    person = Person(await shared_net.pds[0].create_account(f"listener-{next(_NUMBERS)}.test"))
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        yield await PlainBrowser(person, studio.door.address, client).signed_in()


@pytest_asyncio.fixture(loop_scope="session", scope="package")
async def service(shared_net: Testnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The address of a worker for the people of the network, with nothing in its index."""
    async with opened(shared_net, Settings(data_dir=tmp_path_factory.mktemp("service"))) as door:
        yield door.address
