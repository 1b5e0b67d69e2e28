"""ASGI applications behind the gate: their answers, their streams, and nothing left over."""

from typing import Any

import aiohttp
import pytest
from aiohttp import web

from readapi.answers import Answer
from readapi.http import asgi
from readapi.http.asgi import AsgiApp, Receive, Send, StreamLimits
from readapi.http.endpoint import Routes
from readapi.http.request.request import Request
from tests.indexer.running import until
from tests.readapi import site

EVENTS = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}

routes = Routes("test")


@routes.get("/app")
async def get_app(request: Request, app: list, streams: StreamLimits) -> Answer[Any] | web.StreamResponse:
    """Let the application answer a GET."""
    return await asgi.answer_by_asgi(app[0], request, b"", streams, request.client, {"told": "this"})


@routes.post("/app", from_any_page=True)
async def post_app(request: Request, app: list, streams: StreamLimits) -> Answer[Any] | web.StreamResponse:
    """Let the application answer a POST."""
    body = await request.read()
    return await asgi.answer_by_asgi(app[0], request, body, streams, request.client, {"told": "this"})


def serving(app: AsgiApp, streams: StreamLimits | None = None) -> Any:
    """A site whose /app is this application."""
    return site.running(routes, {list: [app], StreamLimits: streams or StreamLimits()})


def answering(status: int, headers: list[tuple[bytes, bytes]], *parts: bytes) -> AsgiApp:
    """An application that answers everything with the same."""

    async def app(_: Any, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body"})

    return app


async def test_the_application_is_told_of_the_request():
    """Its method, address, headers and whole body, and no cookie; then nothing until the client is gone."""
    told: list[Any] = []

    async def app(scope: Any, receive: Receive, send: Send) -> None:
        told.extend((scope, await receive()))
        await answering(200, [], b"{}")(scope, receive, send)

    async with (
        serving(app) as opened,
        opened.client.post(  # type: ignore[union-attr]
            f"{opened.address}/app?q=a%20b", data=b"sent", headers={"Cookie": "session_id=x", "X-Mine": "yes"}
        ) as answer,
    ):
        assert answer.status == 200
        host = opened.address.removeprefix("http://").encode()

    scope, message = told
    headers = dict(scope["headers"])
    assert (scope["type"], scope["method"], scope["path"], scope["query_string"]) == (
        "http",
        "POST",
        "/app",
        b"q=a%20b",
    )
    assert (headers[b"x-mine"], headers[b"host"], b"cookie" in headers) == (b"yes", host, False)
    assert (scope["told"], message) == ("this", {"type": "http.request", "body": b"sent", "more_body": False})


async def test_an_answer_carries_what_every_answer_carries():
    """The application's status, headers and body, and the gate's headers."""
    app = answering(201, [(b"content-type", b"application/json"), (b"x-mine", b"yes")], b'{"a":', b"1}")

    async with serving(app) as opened, opened.get("/app") as answer:
        assert (answer.status, await answer.json(), answer.headers["X-Mine"]) == (201, {"a": 1}, "yes")
        for name in ("X-Request-Id", "RateLimit-Limit", "X-Content-Type-Options", "Content-Length"):
            assert name in answer.headers


@pytest.mark.parametrize(
    ("content_type", "content", "said"),
    [
        (b"text/plain", b"Bad Accept header", "Bad Accept header."),
        (b"", b"Bad Accept header", "Bad Accept header."),
        (b"application/json", b"", "Not Acceptable."),
    ],
)
async def test_refusals_that_are_not_json_have_the_one_shape(content_type, content, said):
    """With the application's words, or else the status's."""
    app = answering(406, [(b"content-type", content_type), (b"allow", b"POST")], content)

    async with serving(app) as opened, opened.get("/app") as answer:
        told = await answer.json()

    assert (answer.status, answer.headers["Allow"]) == (406, "POST")
    assert told == {"detail": "invalid_request", "message": said}


async def raising(_: Any, __: Receive, ___: Send) -> None:
    raise ValueError("secret")


async def silent(_: Any, __: Receive, ___: Send) -> None:
    return


@pytest.mark.parametrize("app", [raising, silent])
async def test_an_application_that_fails_is_an_internal_error(app):
    """Without its words."""
    async with serving(app) as opened, opened.get("/app") as answer:
        assert (answer.status, (await answer.json())["detail"]) == (500, "internal")
        assert "secret" not in await answer.text()


class Streaming:
    """An application whose stream begins and then waits for the client to disconnect."""

    def __init__(self) -> None:
        self.received: list[str] = []
        self.ended = 0

    async def __call__(self, _: Any, receive: Receive, send: Send) -> None:
        try:
            await send(EVENTS)
            await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
            while not self.received or self.received[-1] != "http.disconnect":
                self.received.append((await receive())["type"])
        finally:
            self.ended += 1


async def test_a_stream_is_sent_as_it_is_made_and_ends_with_the_client():
    """`receive` returns once for the body and then waits; the gate's headers come before the first event."""
    app, streams = Streaming(), StreamLimits()
    async with serving(app, streams) as opened:
        async with opened.get("/app") as answer:
            assert await answer.content.readuntil(b"\n\n") == b"data: 1\n\n"
            assert {"X-Request-Id", "RateLimit-Limit"} <= answer.headers.keys()
            assert answer.headers["Cache-Control"] == "no-store"
            assert (app.received, streams.open) == (["http.request"], 1)
            answer.close()
        await until(lambda: app.ended and not streams.open)


async def test_a_client_has_few_streams_and_none_for_long():
    """One more is refused and ended; each ends at its time, properly."""
    app, streams = Streaming(), StreamLimits(of_one=1, seconds=1.0)
    async with serving(app, streams) as opened, opened.get("/app") as first:
        async with opened.get("/app") as second:
            assert (second.status, second.headers["Retry-After"]) == (429, "10")
            assert (await second.json())["detail"] == "rate_limited"

        assert await first.read() == b"data: 1\n\n"
        await until(lambda: app.ended == 2 and not streams.open)


async def test_all_streams_together_are_limited():
    """Whoever opens them."""
    streams = StreamLimits(most=2)
    leave = [streams.enter("a"), streams.enter("b")]
    with pytest.raises(Exception, match="Too many streams"):
        streams.enter("c")
    leave[0]()
    streams.enter("c")()

    assert streams.open == 1


async def test_a_stream_that_breaks_off_is_seen_as_broken():
    """Never as one that came to its end."""

    async def app(_: Any, __: Receive, send: Send) -> None:
        await send(EVENTS)
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        raise ValueError("broken")

    streams = StreamLimits()
    async with serving(app, streams) as opened, opened.get("/app") as answer:
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()
        await until(lambda: not streams.open)
