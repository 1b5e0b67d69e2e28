"""Which handler an address reaches, and what the names of its path are."""

import pytest
from aiohttp import web
from yarl import URL

from readapi.answers import Answer
from readapi.errors import NotFound
from readapi.http.request.request import Request
from readapi.http.router import Handler, Router
from tests.readapi.http.mocked import mocked_request


def saying(name: str) -> Handler:
    def handle(request: Request) -> Answer[str]:
        values = " ".join(f"{key}={value}" for key, value in request.path_values.items())
        return Answer(f"{request.method} {name} {values}".strip().encode())

    return handle


@pytest.fixture
def router() -> Router:
    router = Router()
    for path in (
        "/tracks/",
        "/tracks",
        "/tracks/top",
        "/tracks/{track}",
        "/tracks/{track}/likes",
        "/tracks/tags/{name:.+}",
        "/albums/{handle:did:[^/]+|[^/:]+[.][^/:]+}/{slug}",
        "/albums/{album}/cover",
        "/{page}.html",
    ):
        router.add(path, {"GET": saying(path), "HEAD": saying(path)})
    router.add("/albums/{album}/{part}", {"POST": saying("/albums/{album}/{part}")})
    return router


async def answer(router: Router, path: str, method: str = "GET") -> str:
    found = router.answer(mocked_request(method, str(URL(path, encoded=True))))
    assert isinstance(found, Answer)
    return found.body.decode()


@pytest.mark.parametrize(
    ("path", "reached"),
    [
        ("/tracks/", "/tracks/"),
        ("/tracks?limit=5", "/tracks"),
        ("/tracks/top", "/tracks/top"),
        ("/tracks/7", "/tracks/{track} track=7"),
        ("/tracks/at%3A%2F%2Fdid%3Aplc%3Aana%2Fx", "/tracks/{track} track=at://did:plc:ana/x"),
        ("/tracks/50%25", "/tracks/{track} track=50%"),
        ("/tracks/%F0%9F%8E%B5/likes", "/tracks/{track}/likes track=🎵"),
        ("/tracks/tags/rock/and/roll", "/tracks/tags/{name:.+} name=rock/and/roll"),
        (
            "/albums/ana.test/cover",
            "/albums/{handle:did:[^/]+|[^/:]+[.][^/:]+}/{slug} handle=ana.test slug=cover",
        ),
        ("/albums/7/cover", "/albums/{album}/cover album=7"),
        ("/about.html", "/{page}.html page=about"),
    ],
)
async def test_the_most_explicit_pattern_wins(router: Router, path: str, reached: str) -> None:
    assert await answer(router, path) == f"GET {reached}"
    assert await answer(router, path, "HEAD") == f"HEAD {reached}"


@pytest.mark.parametrize(
    "path", ["/", "/track", "/tracks/7/", "/tracks/7/unlikes", "/albums/7", "//tracks", "/x"]
)
async def test_other_addresses_are_not_found(router: Router, path: str) -> None:
    with pytest.raises(NotFound):
        await answer(router, path)


async def test_a_pattern_without_the_method_leaves_the_request_to_the_next(router: Router) -> None:
    assert await answer(router, "/albums/ana.test/cover", "POST") == (
        "POST /albums/{album}/{part} album=ana.test part=cover"
    )


async def test_other_methods_are_refused_with_those_there_are(router: Router) -> None:
    with pytest.raises(web.HTTPMethodNotAllowed) as refused:
        await answer(router, "/tracks/7", "PUT")

    assert refused.value.allowed_methods == {"GET", "HEAD"}


async def test_a_path_without_names_leaves_no_request_to_patterns(router: Router) -> None:
    router.add("/{anything:.+}", {"PUT": saying("/{anything:.+}")})
    with pytest.raises(web.HTTPMethodNotAllowed) as refused:
        await answer(router, "/tracks/top", "PUT")

    assert refused.value.allowed_methods == {"GET", "HEAD"}


async def test_a_refusal_lists_the_methods_of_all_patterns(router: Router) -> None:
    with pytest.raises(web.HTTPMethodNotAllowed) as refused:
        await answer(router, "/albums/ana.test/cover", "PUT")

    assert refused.value.allowed_methods == {"GET", "HEAD", "POST"}
