"""The description is valid, complete, and says of every parameter and answer what it is."""

import orjson
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from readapi.app import all_endpoints
from readapi.openapi import describe
from schemas.errors import Code

ENDPOINTS = all_endpoints()
DOCUMENT = orjson.loads(describe(ENDPOINTS, "https://api.example"))
OPERATIONS = {
    f"{method} {path}": operation
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
}


def test_the_description_is_valid():
    """By somebody else's validator."""
    OpenAPIV31SpecValidator(DOCUMENT).validate()


def test_operation_ids_are_unique():
    """Generated clients name functions after them."""
    names = [operation["operationId"] for operation in OPERATIONS.values()]

    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_described(name):
    """A summary, a success with content, refusals with the one error body."""
    operation = OPERATIONS[name]

    assert operation["summary"]
    assert {"200", "202", "204"} & operation["responses"].keys()
    for status in ("400", "500"):
        assert status in operation["responses"]
    if not name.startswith("head"):
        for status, response in operation["responses"].items():
            assert ("content" in response) is (status not in ("204", "302", "303", "304"))


def test_who_may_use_a_route_is_described():
    """By cookie or bearer token; where nobody needs to be signed in, also without."""
    somebody, anybody = [{"cookie": []}, {"bearer": []}], [{}, {"cookie": []}, {"bearer": []}]

    assert OPERATIONS["get /auth/me"]["security"] == somebody
    assert OPERATIONS["get /tracks/{track_id}"]["security"] == anybody
    assert "security" not in OPERATIONS["get /stats"]
    assert DOCUMENT["components"]["securitySchemes"].keys() == {"cookie", "bearer"}


def test_what_is_sent_is_described():
    """As JSON or as a form, with its bounds; a body that needs nothing may be left out."""
    body = OPERATIONS["post /auth/developer-token/start"]["requestBody"]
    shape = DOCUMENT["components"]["schemas"]["WantedToken"]

    assert body["required"]
    assert body["content"].keys() == {"application/json", "application/x-www-form-urlencoded"}
    assert shape["required"] == ["name"]
    days = shape["properties"]["expires_in_days"]
    assert (days["minimum"], days["maximum"], days["default"]) == (1, 365, 180)
    assert not OPERATIONS["post /auth/scope-upgrade/start"]["requestBody"]["required"]


def test_files_are_described_where_they_can_be_sent():
    """Alone in forms with parts; these may also carry what else a page's form says."""
    for name in ("post /tracks/", "put /tracks/{track_id}/audio", "post /albums/{album_id}/cover"):
        assert OPERATIONS[name]["requestBody"]["content"].keys() == {"multipart/form-data"}
    for name in ("patch /tracks/{track_id}", "patch /lists/playlists/{playlist_id}"):
        assert "multipart/form-data" in OPERATIONS[name]["requestBody"]["content"]


def test_private_visibility_is_described():
    """It goes together with listening in a Space."""
    described = DOCUMENT["components"]["schemas"]["TemplateAccess"]["properties"]

    assert "`space`" in described["visibility"]["description"]
    assert "`private`" in described["listening"]["description"]


def test_shapes_are_open_to_new_fields():
    """A client that was generated from this must not break when a field is added."""
    assert not any("additionalProperties" in shape for shape in DOCUMENT["components"]["schemas"].values())


def test_refusals_list_every_code():
    """`detail` is one of a closed list."""
    assert set(DOCUMENT["components"]["schemas"]["Code"]["enum"]) == set(Code)


def test_paging_parameters_tell_their_bounds():
    """What is refused with 422 is written down."""
    parameters = {parameter["name"]: parameter for parameter in OPERATIONS["get /tracks/"]["parameters"]}

    assert parameters["limit"]["schema"] == {
        "type": "integer", "minimum": 1, "maximum": 100, "default": 50,
    }  # fmt: skip
    assert parameters["sort"]["schema"]["enum"] == ["recent", "popular"]
    assert parameters["cursor"]["schema"] == {"type": "string"}
    assert not parameters["cursor"]["required"]


@pytest.mark.parametrize("name", ["get /tracks/liked", "get /tracks/tags/{name}"])
def test_lists_that_clients_take_for_whole_are_as_long_as_a_page_may_be(name):
    """Clients of this interface ask for them without a limit and expect a hundred."""
    [limit] = [parameter for parameter in OPERATIONS[name]["parameters"] if parameter["name"] == "limit"]

    assert limit["schema"]["default"] == 100


def test_the_top_tracks_may_be_a_hundred():
    """As clients of this interface ask for them."""
    parameters = {parameter["name"]: parameter for parameter in OPERATIONS["get /tracks/top"]["parameters"]}

    assert (parameters["limit"]["schema"]["maximum"], parameters["limit"]["schema"]["default"]) == (100, 10)
