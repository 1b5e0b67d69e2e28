"""A handler's signature decides what each of its parameters is bound to, and what a request must bring."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from readapi.errors import InvalidRequest, NotFound
from readapi.http.binding import Signature
from readapi.http.request.headers import Conditions
from readapi.http.viewer import SignedIn
from schemas.access import Viewer
from schemas.api.shape import Asked
from tests.readapi.http.mocked import mocked_request


class Catalogue:
    """A service: any class that is no value of a request."""


class Title(Asked):
    """A request's body."""

    title: Annotated[str, Field(min_length=1)]


CATALOGUE = Catalogue()


async def list_tracks(
    artist: str,
    catalogue: Catalogue,
    conditions: Conditions,
    viewer: Viewer | None,
    limit: Annotated[int, Field(ge=1, le=10)] = 5,
    order: Literal["top", "new"] = "new",
    tags: list[str] | None = None,
) -> None:
    """A handler with a parameter of every kind but a body."""


async def rename(number: int, sent: Title, who: SignedIn) -> None:
    """A handler with a body, for accounts that have signed in."""


def bound(
    handler: Any, query: str = "", sent: dict[str, Any] | None = None, **path: str
) -> dict[str, object]:
    """The arguments of a handler for a request without a viewer."""
    request = mocked_request("GET", f"/{query}")
    request.path_values = path
    binder = Signature.of(handler, frozenset(path)).binder({Catalogue: CATALOGUE})
    return binder(request, None, sent or {})


def test_each_parameter_is_bound_by_its_name_and_type() -> None:
    """Path and query by name; services, headers and the viewer by type; the rest by default."""
    arguments = bound(list_tracks, "?limit=3&tags=a&tags=b", artist="ana")

    assert isinstance(arguments.pop("conditions"), Conditions)
    assert arguments == {
        "artist": "ana",
        "catalogue": CATALOGUE,
        "viewer": None,
        "limit": 3,
        "order": "new",
        "tags": ["a", "b"],
    }


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("?limit=0", ["limit"]),
        ("?limit=many", ["limit"]),
        ("?order=best", ["order"]),
        ("?limit=11&order=best", ["limit", "order"]),
    ],
)
def test_every_value_that_does_not_fit_is_named_at_once(query: str, fields: list[str]) -> None:
    """So that a person corrects a request in one go."""
    with pytest.raises(InvalidRequest) as refused:
        bound(list_tracks, query, artist="ana")

    assert [error.field for error in refused.value.errors] == fields


def test_a_body_becomes_its_shape_and_its_faults_are_named_like_the_querys() -> None:
    """By the member at fault."""
    assert bound(rename, sent={"title": "Lua"}, number="1")["sent"] == Title(title="Lua")

    with pytest.raises(InvalidRequest) as refused:
        bound(rename, sent={"title": ""}, number="1")
    assert [error.field for error in refused.value.errors] == ["title"]


def test_a_path_that_does_not_fit_names_nothing_that_exists() -> None:
    """`/tracks/abc` is not a malformed request: there is no such track."""
    with pytest.raises(NotFound):
        bound(rename, sent={"title": "Lua"}, number="abc")


def test_the_signature_says_whether_a_viewer_is_required() -> None:
    """The gate reads it to refuse requests without a credential before anything is bound."""
    optional = Signature.of(list_tracks, frozenset({"artist"})).person
    required = Signature.of(rename, frozenset({"number"})).person

    assert optional is not None
    assert (optional.kind, optional.required) == (Viewer, False)
    assert required is not None
    assert (required.kind, required.required) == (SignedIn, True)


def test_a_name_in_the_path_without_a_parameter_stops_the_start() -> None:
    with pytest.raises(TypeError, match="rename does not take album of its path"):
        Signature.of(rename, frozenset({"number", "album"}))


def test_a_service_that_is_not_there_stops_the_start() -> None:
    """Not the first request."""
    with pytest.raises(LookupError, match="Catalogue"):
        Signature.of(list_tracks, frozenset({"artist"})).binder({})
