"""schemathesis in the name of somebody: no failure, no status and no shape that is not described.

`FMSVC_TEST_SCHEMATHESIS` is how many requests of each kind every operation gets.
"""

import asyncio
import http.cookiejar
from collections.abc import Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import requests
import schemathesis
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation

from readapi.http.request import cookies
from readapi.processes.app import all_endpoints
from tests.network.testnet import Testnet
from tests.promises.everything import Owner, owner_of_everything
from tests.promises.fuzzing import EXAMPLES, Change, ask, can_be_wrong, operations
from tests.readapi.studio import open_studio
from tests.readapi.threaded import on_a_thread

pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.timeout(300 + 60 * EXAMPLES)]

ENDING = (  # whoever becomes another account has other belongings
    "/auth/switch-account",
    "/settings/accounts/{did}/use",
    "/auth/accounts/{did}",
    "/settings/accounts/{did}/remove",
    "/auth/logout",
    "/settings/sign-out",
)
SETUP_SECONDS = 120


@pytest.fixture(scope="module")
def threaded_studio(network, tmp_path_factory):
    @asynccontextmanager
    async def opened():
        async with (
            Testnet.connect(network) as net,
            open_studio(net, tmp_path_factory.mktemp("studio")) as studio,
        ):
            yield studio

    with on_a_thread(opened(), SETUP_SECONDS) as served:
        yield served


@pytest.mark.parametrize("credential", ["token", "cookie"])
def test_every_answer_to_somebody_is_one_that_is_described(threaded_studio, credential):
    """Requests for what they have and for what nobody has, as described and wrong; what ends things, last."""
    served, loop = threaded_studio
    owner = asyncio.run_coroutine_threadsafe(owner_of_everything(served), loop).result(SETUP_SECONDS)
    asked = sorted(operations(served.door.address, signed_in=True), key=harm)
    answered: dict[str, set[int]] = {}
    with requests.Session() as session:
        session.cookies.set_policy(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))
        for operation, mode in in_turn(asked):
            found = ask(operation, mode, session, signed_in(owner, credential), [named(owner), filled(owner)])
            answered.setdefault(operation.label, set()).update(found)

    turned_away = {label for label, statuses in answered.items() if statuses <= {401, 403}}
    assert not turned_away & open_to(credential)


def in_turn(asked: list[APIOperation]) -> Iterator[tuple[APIOperation, GenerationMode]]:
    """Wrong requests come first: what they are for is still there."""
    for operation in asked:
        if operation.body or can_be_wrong(operation):
            yield operation, GenerationMode.NEGATIVE
        yield operation, GenerationMode.POSITIVE


def open_to(credential: str) -> set[str]:
    """The operations for which it is enough to bring this."""
    return {
        f"{endpoint.method} {endpoint.documented_path}"
        for endpoint in all_endpoints()
        if endpoint.needs.signed_in and (credential == "cookie" or not endpoint.needs.in_session)
    }


def harm(operation: APIOperation) -> int:
    """How much is gone after it: nothing, something, the account or the session."""
    if operation.path in ENDING:
        return 2 + ENDING.index(operation.path)
    return int(operation.method == "delete" or operation.path.endswith(("/delete", "/revoke")))


def signed_in(owner: Owner, credential: str) -> Change:
    def sign(case: schemathesis.Case) -> None:
        if credential == "token":
            case.headers["Authorization"] = f"Bearer {owner.token}"
        else:
            case.cookies = {cookies.SESSION: owner.artist.session}

    return sign


def named(owner: Owner) -> Change:
    """What they have, in the address."""

    def name(case: schemathesis.Case) -> None:
        for given in (case.path_parameters, case.query):
            put(owner, given)

    return name


def filled(owner: Owner) -> Change:
    """The same in what is sent."""

    def fill(case: schemathesis.Case) -> None:
        put(owner, case.body)

    return fill


def put(owner: Owner, given: Any) -> None:
    if isinstance(given, dict):
        given.update({name: value for name, value in owner.names.items() if name in given})
