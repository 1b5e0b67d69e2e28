"""The description is valid, complete, and says of every parameter and answer what it is."""

import orjson
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from readapi.http.openapi.document import api_endpoints, describe_api
from readapi.processes.app import all_endpoints
from schemas.errors import Code

ENDPOINTS = all_endpoints()
DOCUMENT = orjson.loads(describe_api(api_endpoints(ENDPOINTS), "https://api.example"))
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
    for status, response in operation["responses"].items():
        assert ("content" in response) is (status not in ("101", "204", "302", "303", "304"))


def test_each_refusal_has_an_example_of_its_own():
    """An absent track and a wrong parameter do not look alike."""
    refusals = OPERATIONS["get /tracks/{track_id}"]["responses"]
    shown = {
        status: refusals[status]["content"]["application/json"]["example"] for status in ("404", "422", "503")
    }

    assert shown["404"] == {"detail": "not_found", "message": "The resource does not exist."}
    assert (shown["422"]["detail"], shown["503"]["detail"]) == ("invalid_request", "index_not_ready")


def test_who_may_use_a_route_is_described():
    """By cookie or bearer token; where nobody needs to be signed in, also without."""
    somebody, anybody = [{"cookie": []}, {"bearer": []}], [{}, {"cookie": []}, {"bearer": []}]

    assert OPERATIONS["get /auth/me"]["security"] == somebody
    assert OPERATIONS["get /tracks/{track_id}"]["security"] == anybody
    assert OPERATIONS["get /stats"]["security"] == []
    assert DOCUMENT["components"]["securitySchemes"].keys() == {"cookie", "bearer"}


def test_what_is_sent_is_described():
    """As JSON alone, with its bounds; a body that needs nothing may be left out."""
    body = OPERATIONS["post /auth/developer-token/start"]["requestBody"]
    shape = DOCUMENT["components"]["schemas"]["WantedToken"]

    assert body["required"]
    assert body["content"].keys() == {"application/json"}
    assert shape["required"] == ["name"]
    days = shape["properties"]["expires_in_days"]
    assert (days["minimum"], days["maximum"], days["default"]) == (1, 365, 180)
    assert not OPERATIONS["post /auth/scope-upgrade/start"]["requestBody"]["required"]


def test_files_are_described_where_they_can_be_sent():
    """In forms with parts, whose lists are repeated or JSON; JSON carries no file."""
    for name in ("post /tracks/", "put /tracks/{track_id}/audio", "post /albums/{album_id}/cover"):
        assert OPERATIONS[name]["requestBody"]["content"].keys() == {"multipart/form-data"}
    shapes = DOCUMENT["components"]["schemas"]
    change = OPERATIONS["patch /tracks/{track_id}"]["requestBody"]["content"]
    as_json, in_parts = (
        shapes[change[kind]["schema"]["$ref"].rpartition("/")[2]]["properties"]
        for kind in ("application/json", "multipart/form-data")
    )

    assert "image" not in as_json
    assert in_parts["image"]["format"] == "binary"
    for name, members in (("TrackChange", in_parts), ("NewTrack", shapes["NewTrack"]["properties"])):
        for listed in ("tags", "features"):
            kinds = [choice["type"] for choice in members[listed]["anyOf"]]
            assert kinds == ["array", "string"], (name, listed)


def test_pages_and_head_are_not_described():
    """They are for browsers; there are no parameters, shapes or answers in them for programs."""
    assert not any(name.startswith("head ") for name in OPERATIONS)
    assert not any(path.startswith(("/portal", "/embed", "/settings")) for path in DOCUMENT["paths"])
    assert not {"/", "/docs", "/login", "/track/{track_id}"} & DOCUMENT["paths"].keys()
    assert "pages" not in {tag["name"] for tag in DOCUMENT["tags"]}


def test_a_track_is_named_by_a_number_or_a_text():
    """Its id is a number in every answer."""
    [named] = OPERATIONS["get /tracks/{track_id}"]["parameters"]

    assert named["schema"]["type"] == ["integer", "string"]


def test_what_texts_hold_is_described():
    """Cursors, DIDs and addresses by their formats."""
    shapes = DOCUMENT["components"]["schemas"]

    assert shapes["Track"]["properties"]["artist_did"]["format"] == "did"
    assert shapes["Track"]["properties"]["atproto_record_uri"]["format"] == "at-uri"
    assert shapes["TrackPage"]["properties"]["next_cursor"]["anyOf"][0]["format"] == "cursor"


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
    assert parameters["cursor"]["schema"] == {"type": "string", "format": "cursor"}
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
