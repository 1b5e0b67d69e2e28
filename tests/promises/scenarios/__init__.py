"""What can happen to a network that an index follows, one short story each; told by `test_scenarios.py`.

A scenario takes the world, lets something happen in it, and ends. Then the oracle says whether the catalogue
is, record by record, what the servers themselves list, and whether the API agrees.
"""

from collections.abc import Awaitable, Callable

from tests.promises.scenarios import accounts, installs, records, servers, streams
from tests.promises.scenarios.world import World

Scenario = Callable[[World], Awaitable[None]]

ALL: tuple[Scenario, ...] = (*records.ALL, *accounts.ALL, *streams.ALL, *servers.ALL, *installs.ALL)
