"""What tests share: real networks on loopback, a state database of each kind, and somebody who signs in."""

import gc
import itertools
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from schemas.settings import Settings
from tests import schedule
from tests.empty_states import EmptyStates
from tests.network.person import Person
from tests.network.testnet import Network, Testnet, running_network
from tests.postgres import new_database, running_postgres
from tests.readapi.door import Door, opened
from tests.seaweedfs import running_seaweedfs

NUMBERS = itertools.count()
STUDIOS: list[Callable[[], None]] = []  # what stops them
# Fixtures of tests that write files: `make test-fast` leaves these tests out, and no list of them is kept.
FOLDERS = {"tmp_path", "tmp_path_factory"}

# Nobody on the internet is trusted here, so none of the processes has to read whom to trust.
os.environ["SSL_CERT_FILE"] = os.devnull
# A busy machine is no fault of what is tested.
settings.register_profile(
    "unhurried", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")
gc.disable()  # until everything is imported, and that stays


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: every third moment of a test is spent waiting for some server.

    One more than there are would leave a sixth of the time of two cores unused.
    """
    return (os.cpu_count() or 1) + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> schedule.Schedule | None:
    """For whole files, as `make test` has them."""
    return schedule.Schedule(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """What was collected stays, and is not walked again whenever garbage is looked for."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first, so that no process is left alone with it at the end."""
    for item in items:
        if not FOLDERS.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("stores")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (not (group := schedule.group(item.path)), group, item.path not in slow))


def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> None:
    """Note that the whole service is started."""
    if fixturedef.argname == "studio":
        STUDIOS.append(lambda: fixturedef.finish(request))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Stop the whole service after its group: idle, it would take a tenth of a core until the run's end.

    What depends on it is torn down first. A later test that asks for it gets a new one.
    """
    try:
        yield
    finally:
        if schedule.is_over(item, nextitem):
            while STUDIOS:
                STUDIOS.pop()()


@pytest.fixture(scope="session")
def network() -> Iterator[Network]:
    """The session's PLC directory and PDS."""
    with running_network() as started:
        yield started


@pytest.fixture(scope="module")
def wide_network() -> Iterator[Network]:
    """The module's own network, of two PDSes."""
    with running_network(pdses=2) as started:
        yield started


@pytest.fixture
async def net(network: Network) -> AsyncIterator[Testnet]:
    """The session's network; a test makes accounts of its own in it."""
    async with Testnet.connect(network) as testnet:
        yield testnet


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The session's PostgreSQL server."""
    with running_postgres() as server:
        yield server.address


@pytest.fixture(scope="session")
def seaweedfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The session's S3 server."""
    with running_seaweedfs(tmp_path_factory.mktemp("seaweedfs")) as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
async def unmigrated_settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Of a state database that has no tables yet."""
    if request.param == "sqlite":
        return Settings(data_dir=tmp_path)
    url = await new_database(request.getfixturevalue("postgres"), uuid.uuid4().hex)
    return Settings(data_dir=tmp_path, state_url=url)


@pytest.fixture(scope="session")
def empty_states(tmp_path_factory: pytest.TempPathFactory) -> EmptyStates:
    """The session's templates of state databases."""
    return EmptyStates(tmp_path_factory.mktemp("empty-states"))


@pytest.fixture(params=["sqlite", "postgresql"])
async def state_settings(
    request: pytest.FixtureRequest, tmp_path: Path, empty_states: EmptyStates
) -> Settings:
    """Of an empty state database, so that each test of the state runs on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        return await empty_states.sqlite(tmp_path)
    return await empty_states.postgresql(tmp_path, request.getfixturevalue("postgres"))


@pytest.fixture
async def person(net: Testnet) -> Person:
    """Somebody new, with a browser of their own."""
    return Person(await net.pds[0].create_account(f"signer-{next(NUMBERS)}.test"))


@pytest.fixture
async def door(net: Testnet, state_settings: Settings) -> AsyncIterator[Door]:
    """A worker to sign in to, on each kind of state database."""
    async with opened(net, state_settings) as opened_door:
        yield opened_door
