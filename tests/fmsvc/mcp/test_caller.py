"""How tools ask the API: no other address, bounded answers, and one kind of error."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from fmsvc._async.http import MAX_BYTES
from fmsvc.errors import FmsvcError, UnreachableError
from fmsvc.mcp.caller import CALLER, CallerApi
from fmsvc.mcp.errors import explain, find_code

ADDRESS = "https://api.example"
JSON = {"Content-Type": "application/json"}


def api(answer: Callable[[httpx2.Request], httpx2.Response], token: str | None = "secret") -> CallerApi:
    return CallerApi.of(
        token=token, api_url=ADDRESS, how_to_sign_in="Sign in so.", transport=httpx2.MockTransport(answer)
    )


async def refused(answer: Callable[[httpx2.Request], httpx2.Response]) -> FmsvcError:
    with pytest.raises(FmsvcError) as caught:
        await api(answer).http.ask("GET", "tracks", 1)
    return caught.value


async def test_segments_and_values_are_escaped():
    """None can leave its place."""
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, json={})

    await api(answer).http.ask("GET", "tracks", "at://a/../b?c#d", query={"q": "x&y=z", "cursor": None})

    assert asked[0].url.raw_path == b"/tracks/at%3A%2F%2Fa%2F..%2Fb%3Fc%23d?q=x%26y%3Dz"
    assert asked[0].headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize("segment", [".", ".."])
async def test_an_argument_of_dots_leads_to_no_other_route(segment: str):
    """An HTTP client resolves such segments: `/tracks/../like` is asked as `/like`."""
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        return httpx2.Response(200, json={})

    with pytest.raises(FmsvcError) as caught:
        await api(answer).http.ask("POST", "tracks", segment, "like")

    assert (find_code(caught.value), asked) == ("invalid_request", [])


async def test_a_redirect_is_not_followed():
    """Wherever it leads, the token stays here."""
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        return httpx2.Response(302, headers={"Location": "http://169.254.169.254/"})

    error = await refused(answer)

    assert (error.status, find_code(error), len(asked)) == (302, "unavailable", 1)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<html>", "not answer with JSON"),
        (b'{"a": ', "not answer with JSON"),
        (b"[" * 100_000, "not answer with JSON"),
        (b"x" * (MAX_BYTES + 1), "too long"),
    ],
)
async def test_answers_that_are_none_are_refused(content, said):
    """However long they are."""
    assert said in (await refused(lambda _: httpx2.Response(200, content=content, headers=JSON))).message


async def test_no_answer_is_an_error_like_others():
    """Without words of the library that could name addresses."""

    def fail(_: httpx2.Request) -> Any:
        raise httpx2.ConnectError("no route to 10.0.0.1")

    error = await refused(fail)

    assert isinstance(error, UnreachableError)
    assert explain(error) == (
        "The API does not answer. (unavailable) "
        "Try again once; then tell the user that the service cannot be reached."
    )


async def test_a_token_of_the_process_is_not_sent_for_a_caller_without_one(monkeypatch):
    """Neither from the environment nor a kept one."""
    monkeypatch.setenv("FMSVC_TOKEN", "secret")
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, json={})

    await api(answer, token=None).http.ask("GET", "stats")

    assert "Authorization" not in asked[0].headers


async def test_refusals_are_explained():
    """What happened, the code and the request id, and the next step."""
    body = {
        "detail": "invalid_request",
        "message": "It is wrong.",
        "errors": [{"field": "q", "message": "short"}],
    }
    headers = {"X-Request-Id": "r1"}
    wrong = await refused(lambda _: httpx2.Response(422, json=body, headers=headers))
    spent = await refused(
        lambda _: httpx2.Response(
            429, json={"detail": "rate_limited", "message": "Too many."}, headers={"Retry-After": "7"}
        )
    )
    stranger = await refused(
        lambda _: httpx2.Response(401, json={"detail": "not_authenticated", "message": "No."})
    )
    CALLER.set(api(lambda _: httpx2.Response(200)))

    assert explain(wrong) == (
        "It is wrong. q: short (invalid_request, request r1) Correct the named arguments and call again."
    )
    assert explain(spent) == (
        "Too many. (rate_limited) Wait 7 seconds before the next call, and ask for larger pages."
    )
    assert explain(stranger) == "No. (not_authenticated) Sign in so."


def test_a_token_is_not_shown():
    """In no representation that could be logged."""
    assert "secret" not in repr(api(lambda _: httpx2.Response(200)))
