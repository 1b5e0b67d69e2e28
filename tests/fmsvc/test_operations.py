"""Every operation of the description has a method of the client, or a reason for having none."""

import json
from operator import attrgetter

from fmsvc import AsyncClient, Client
from fmsvc.operations import OPERATIONS
from readapi.http.openapi.document import api_endpoints, describe_api
from readapi.processes.app import all_endpoints


def test_every_operation_has_a_method_or_a_reason():
    paths = json.loads(describe_api(api_endpoints(all_endpoints()), "https://api.test"))["paths"]
    described = {operation["operationId"] for methods in paths.values() for operation in methods.values()}

    assert set(OPERATIONS) == described
    assert [name for name, one in OPERATIONS.items() if bool(one.method) == bool(one.reason)] == []
    for made in (Client(api_url="https://api.test"), AsyncClient(api_url="https://api.test")):
        for one in OPERATIONS.values():
            assert not one.method or callable(attrgetter(one.method)(made))
