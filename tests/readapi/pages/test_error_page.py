"""Refusals as pages: for browsers, where a page was asked for; JSON for everybody else."""

import pytest

from readapi.answers import HTML, Answer
from readapi.errors import InvalidRequest, NotFound
from readapi.http.endpoint import Routes
from readapi.http.request.headers import prefers_page
from readapi.pages import error_page
from readapi.pages.assets import Assets
from readapi.pages.render import Renderer
from tests.readapi.pages.examples import ADDRESSES
from tests.readapi.site import running

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
RENDERER = Renderer(ADDRESSES, Assets())


def routes() -> Routes:
    made = Routes("test")

    @made.get("/page", media_types=(HTML,), raises=(NotFound,))
    async def page() -> Answer[str]:
        """Refuse to show a page."""
        raise NotFound

    @made.get("/picky", media_types=(HTML,))
    async def picky() -> Answer[str]:
        """Refuse a parameter."""
        raise InvalidRequest.of_field("limit<b>", "must be <small>")

    @made.get("/data", raises=(NotFound,))
    async def data() -> Answer[str]:
        """Refuse to give data."""
        raise NotFound

    return made


@pytest.fixture
async def erring_site():
    def shown(refused, path, form_on):
        return error_page.error_page(refused, path, form_on, RENDERER)

    async with running(routes(), refusal_page=shown) as running_site:
        yield running_site


@pytest.mark.parametrize("path", ["/page", "/no/such/route"])
async def test_a_browser_is_shown_the_code_and_the_sentence(erring_site, path):
    """The status stays, nothing is stored, and the page loads no scripts."""
    async with erring_site.get(path, Accept=BROWSER) as answer:
        body = await answer.text()

    assert (answer.status, answer.content_type) == (404, "text/html")
    assert "404 not_found" in body
    assert "<script" not in body
    assert answer.headers["Cache-Control"] == "no-store"
    assert "script-src" not in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "accept", ["*/*", "application/json", "application/json, text/html;q=0.9", "text/html;q=0"]
)
async def test_programs_are_told_in_json(erring_site, accept):
    """Only who puts HTML first gets it."""
    async with erring_site.get("/page", Accept=accept) as answer:
        assert answer.content_type == "application/json"
        assert (await answer.json())["detail"] == "not_found"


async def test_routes_that_answer_json_refuse_in_json(erring_site):
    """Whatever the browser would rather have."""
    async with erring_site.get("/data", Accept=BROWSER) as answer:
        assert answer.content_type == "application/json"


async def test_fields_at_fault_are_named_and_escaped(erring_site):
    """What a stranger wrote is text on the page."""
    async with erring_site.get("/picky", Accept=BROWSER) as answer:
        body = await answer.text()

    assert answer.status == 422
    assert "<code>limit&lt;b&gt;</code>: must be &lt;small&gt;" in body


@pytest.mark.parametrize(
    ("accept", "prefers"),
    [
        (BROWSER, True),
        ("TEXT/HTML", True),
        ("text/html;q=0.5, application/json;q=0.4", True),
        ("text/html, application/json", False),
        ("text/html;q=x", False),
        ("", False),
        ("*/*", False),
    ],
)
def test_html_must_be_put_before_json(accept, prefers):
    """Equal weights are no preference."""
    assert prefers_page(accept) is prefers
