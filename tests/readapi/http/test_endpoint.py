"""Typed functions become routes: what their signatures promise, requests get."""

from typing import Annotated, Literal

import pytest
from pydantic import Field

from readapi.answers import Answer
from readapi.http.admission import Authorization
from readapi.http.endpoint import Detached, Routes
from schemas.access import Viewer
from schemas.api.health import Health
from schemas.settings import Settings
from tests.readapi.http.mocked import mocked_request
from tests.readapi.site import running


class Greeter:
    """A service."""

    word = "hello"


def routes() -> Routes:
    made = Routes("test")

    @made.get("/numbers/{number}")
    async def number(number: int, times: Annotated[int, Field(ge=1, le=10)] = 1) -> Answer[dict[str, int]]:
        """Multiply."""
        return Answer(b'{"product":%d}' % (number * times))

    @made.get("/letters/")
    async def letters(
        tags: list[str] | None = None, order: Literal["up", "down"] = "up"
    ) -> Answer[dict[str, str]]:
        """Join."""
        joined = "+".join(sorted(tags or [], reverse=order == "down"))
        return Answer(b'{"joined":"%b"}' % joined.encode())

    @made.get("/required")
    async def required(word: str) -> Answer[str]:
        """Repeat."""
        return Answer(b'"%b"' % word.encode())

    @made.get("/greeting")
    async def greeting(greeter: Greeter, viewer: Viewer | None) -> Answer[str]:
        """Greet."""
        return Answer(b'"%b %b"' % (greeter.word.encode(), b"nobody" if viewer is None else b"you"))

    @made.get("/shape")
    async def shape() -> list[Health]:
        """Answer with shapes."""
        return [Health(status="ok")]

    @made.get("/paths/{rest:.+}")
    async def rest(rest: str) -> Answer[str]:
        """Take everything that follows."""
        return Answer(b'"%b"' % rest.encode())

    return made


@pytest.fixture
async def site():
    async with running(routes(), {Greeter: Greeter()}) as running_site:
        yield running_site


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/numbers/3", {"product": 3}),
        ("/numbers/3?times=4", {"product": 12}),
        ("/numbers/3?times=4&unknown=1", {"product": 12}),
        ("/letters/", {"joined": ""}),
        ("/letters", {"joined": ""}),
        ("/letters/?tags=a&tags=b", {"joined": "a+b"}),
        ("/letters/?tags=a&tags=b&order=down", {"joined": "b+a"}),
        ("/required?word=caf%C3%A9", "café"),
        ("/greeting", "hello nobody"),
        ("/shape", [{"status": "ok"}]),
        ("/paths/a/b%2Fc", "a/b/c"),
    ],
)
async def test_a_request_reaches_the_function_as_its_signature_says(site, path, answer):
    """Path and query are found by name, converted, and defaulted; services come by type."""
    async with site.get(path) as response:
        assert response.status == 200
        assert await response.json() == answer


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/numbers/3?times=0", "times"),
        ("/numbers/3?times=11", "times"),
        ("/numbers/3?times=x", "times"),
        ("/numbers/3?times=", "times"),
        ("/letters/?order=sideways", "order"),
        ("/required", "word"),
    ],
)
async def test_a_parameter_that_does_not_fit_is_named(site, path, field):
    """422, and `errors` says which parameter."""
    async with site.get(path) as response:
        body = await response.json()

    assert response.status == 422
    assert body["detail"] == "invalid_request"
    assert [error["field"] for error in body["errors"]] == [field]


async def test_a_path_that_cannot_be_a_name_is_not_found(site):
    """A path parameter that does not convert names nothing."""
    async with site.get("/numbers/three") as response:
        assert response.status == 404
        assert (await response.json())["detail"] == "not_found"


@pytest.mark.parametrize("path", ["/paths/a%00", "/required?word=%00", "/required?word=a&other=%00"])
async def test_an_address_has_no_nul_characters(site, path):
    """422 wherever there is a route; no database is asked for one."""
    async with site.get(path) as response:
        assert response.status == 422
        assert (await response.json())["detail"] == "invalid_request"
    async with site.get("/required?word=%2500") as response:
        assert await response.json() == "%00"


async def test_head_answers_as_get_without_a_body(site):
    """Status and headers are those of GET, the length included."""
    async with site.get("/numbers/3") as got, site.send("HEAD", "/numbers/3") as headed:
        assert headed.status == 200
        assert await headed.read() == b""
        assert headed.headers["Content-Length"] == got.headers["Content-Length"]
        assert headed.headers["ETag"] == got.headers["ETag"]


def test_a_function_without_a_docstring_is_refused():
    """The docstring is the summary in the description, so there must be one."""
    with pytest.raises(TypeError, match="has no docstring"):

        @Routes("test").get("/silent")
        async def silent() -> Answer[str]:
            return Answer(b"")


def test_a_path_name_without_a_parameter_is_refused():
    """A path that names what the function does not take is a mistake found at import."""
    with pytest.raises(TypeError, match="does not take number"):

        @Routes("test").get("/numbers/{number}")
        async def unnamed() -> Answer[str]:
            """Forget the number."""
            return Answer(b"")


def test_a_plain_function_is_answered_without_a_coroutine():
    """Its answer is there when the handler returns."""
    made = Routes("test")

    @made.get("/now")
    def now() -> Answer[str]:
        """Wait for nothing."""
        return Answer(b'"now"')

    handle = made.endpoints[0].handler({Authorization: Authorization(Settings()), Detached: Detached()})

    assert handle(mocked_request("GET", "/now")) == Answer(b'"now"')


async def test_a_service_nobody_offers_stops_the_start():
    """What a function asks for by type must exist before the first request."""
    with pytest.raises(LookupError, match="Greeter"):
        async with running(routes()):
            pass
