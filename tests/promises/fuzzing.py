"""schemathesis, put to every operation of a running service."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from readapi.http.openapi.document import describe_api
from readapi.processes.app import all_endpoints

Change = Callable[[schemathesis.Case], None]

EXAMPLES = int(os.environ.get("FMSVC_TEST_SCHEMATHESIS", "2"))


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


def operations(address: str, *, signed_in: bool = False) -> list[APIOperation]:
    """Every route that is described, pages and their forms too, which programs are not told of.

    Not the page of an address that has JSON for programs, which is what they get. `signed_in`: requests bring
    credentials that are good, so that none are to be made up.
    """
    described = [
        endpoint
        for endpoint in all_endpoints()
        if endpoint.described and not endpoint.endless and not endpoint.is_page_beside_json
    ]
    document: dict[str, Any] = orjson.loads(describe_api(described, address))
    if signed_in:
        for path in document["paths"].values():
            for operation in path.values():
                operation["security"] = []
    description = schemathesis.openapi.from_dict(document)
    description.config.update(base_url=address)
    return [result.ok() for result in description.get_all_operations()]


def can_be_wrong(operation: APIOperation) -> bool:
    """Whether some request for it is refused.

    Any text is right in a path and in a header, unless its description says more than of what format.
    """
    return "422" in operation.definition.raw["responses"] and any(
        parameter.location not in (ParameterLocation.PATH, ParameterLocation.HEADER)
        or not parameter.definition["schema"].keys() <= {"type", "format"}
        or "string" not in parameter.definition["schema"]["type"]
        for parameter in operation.iter_parameters()
    )


def ask(
    operation: APIOperation,
    mode: GenerationMode,
    session: requests.Session,
    always: Change = lambda _: None,
    mostly: Sequence[Change] = (),
) -> set[int]:
    """Send it some requests, changed in this way, and some of them in those; the statuses of the answers."""
    answered: set[int] = set()

    @settings(max_examples=EXAMPLES, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def hold(case: schemathesis.Case, data: st.DataObject) -> None:
        for change in mostly:
            if not data.draw(st.booleans(), "as generated"):
                change(case)
        always(case)
        answered.add(case.call_and_validate(session=session, checks=CHECKS).status_code)

    hold()
    return answered
