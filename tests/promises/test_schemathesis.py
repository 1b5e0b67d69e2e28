"""schemathesis over the running service: no failure, no status and no shape that is not described.

`FMSVC_TEST_SCHEMATHESIS` is how many requests of each kind every operation gets.
"""

import os
from typing import Any

import orjson
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from readapi.app import all_endpoints
from readapi.openapi import describe
from tests.readapi.threaded import threaded

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("FMSVC_TEST_SCHEMATHESIS", "3"))


def never_fails(
    _context: schemathesis.CheckContext, response: schemathesis.Response, _case: schemathesis.Case
) -> None:
    """Refusals may be of the 5xx kind (a format that is not supported), failures may not be."""
    assert response.status_code != 500


CHECKS = [
    never_fails,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def music(tmp_path_factory):
    with threaded(tmp_path_factory.mktemp("music")) as served:
        yield served


@pytest.mark.parametrize("mode", GenerationMode)
def test_every_answer_is_one_that_is_described(music, mode):
    """Requests as described, and requests that are wrong."""
    description = schemathesis.openapi.from_dict(described(music.address))
    description.config.update(base_url=music.address)
    operations = [result.ok() for result in description.get_all_operations()]
    asked = [
        operation for operation in operations if mode is GenerationMode.POSITIVE or can_be_wrong(operation)
    ]
    with requests.Session() as session:
        for operation in asked:
            ask(operation, mode, session)

    assert len(asked) > 10


def described(address: str) -> dict[str, Any]:
    """Every route, pages and their forms too, which programs are not told of."""
    document: dict[str, Any] = orjson.loads(describe(all_endpoints(), address))
    return document


def can_be_wrong(operation: APIOperation) -> bool:
    """Whether some request for it is refused.

    Where there is only a path, any text is right in it, unless its description says more of it.
    """
    told = [(parameter.location, parameter.definition["schema"]) for parameter in operation.iter_parameters()]
    free = [(ParameterLocation.PATH, {"type": kind}) for kind in ("string", ["integer", "string"])]
    return (
        operation.method == "get"
        and "422" in operation.definition.raw["responses"]
        and any(parameter not in free for parameter in told)
    )


def ask(operation: APIOperation, mode: GenerationMode, session: requests.Session) -> None:
    @settings(max_examples=EXAMPLES, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def hold(case: schemathesis.Case) -> None:
        case.call_and_validate(session=session, checks=CHECKS)

    hold()
