"""Every request passes the gate: one error shape, headers, caching, CORS, limits, one log line."""

import asyncio
import functools
import gzip
from collections.abc import Callable
from datetime import UTC, datetime

import orjson
import pytest
from aiohttp import web

from readapi.answers import Answer
from readapi.errors import IndexNotReady, NotAuthenticated
from readapi.http.endpoint import Handler, Routes
from readapi.http.limits.rate_limits import Allowance, Spent
from readapi.http.viewer import InSession, Requester, SignedIn
from readapi.state.sign_in.grants import GrantId
from readapi.state.sign_in.sessions import Session
from schemas.access import Viewer
from schemas.ids import Did, Handle
from schemas.settings import Settings
from tests.readapi.site import running
from tests.readapi.state.people import MARA, token

LARGE = b'"' + b"x" * 10_000 + b'"'


class Calls:
    """Counts how often handlers ran."""

    number = 0


def as_coroutine(function: Handler) -> Handler:
    """The same handler as one that has a task."""

    @functools.wraps(function)
    async def handle(**arguments: object) -> object:
        return function(**arguments)

    return handle


def routes(kind: Callable[[Handler], Handler] = as_coroutine) -> Routes:
    made = Routes("test")

    @made.get("/counted")
    @kind
    def counted(calls: Calls) -> Answer[int]:
        """Say how often this was asked."""
        calls.number += 1
        return Answer(b"%d" % calls.number)

    @made.get("/large")
    @kind
    def large() -> Answer[str]:
        """Answer at length."""
        return Answer(LARGE)

    @made.get("/framed")
    @kind
    def framed() -> Answer[str]:
        """Answer with headers of its own."""
        return Answer(b"<p>", "text/html", headers={"Content-Security-Policy": "frame-ancestors *"})

    @made.get("/broken")
    @kind
    def broken() -> Answer[str]:
        """Fail."""
        raise RuntimeError("the secret cause")

    @made.get("/unready", raises=(IndexNotReady,))
    @kind
    def unready() -> Answer[str]:
        """Refuse."""
        raise IndexNotReady

    @made.get("/too-large")
    @kind
    def too_large() -> Answer[str]:
        """Refuse as the framework does."""
        raise web.HTTPRequestEntityTooLarge(max_size=1, actual_size=2)

    @made.get("/mine")
    @kind
    def mine(calls: Calls, viewer: Viewer | None) -> Answer[str]:
        """Say who asks, and how often this was asked."""
        calls.number += 1
        return Answer(b'"%b %d"' % (b"nobody" if viewer is None else viewer.did.encode(), calls.number))

    @made.get("/once", acts=True)
    @kind
    def once(calls: Calls) -> Answer[int]:
        """Do something each time."""
        calls.number += 1
        return Answer(b"%d" % calls.number)

    @made.get("/health", operational=True)
    @kind
    def health() -> Answer[str]:
        """Live."""
        return Answer(b'"ok"')

    return made


@pytest.fixture(params=[as_coroutine, lambda function: function], ids=["in a task", "where its bytes arrive"])
async def site(request):
    async with running(routes(request.param), {Calls: Calls()}) as running_site:
        yield running_site


@pytest.mark.parametrize(
    ("method", "path", "status", "detail"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/", 404, "not_found"),
        ("GET", "/%00", 404, "not_found"),
        ("POST", "/counted", 405, "method_not_allowed"),
        ("PROPFIND", "/counted", 405, "method_not_allowed"),
        ("BREW", "/counted", 400, "invalid_request"),
        ("GET", "/too-large", 413, "too_large"),
        ("GET", "/broken", 500, "internal"),
        ("GET", "/unready", 503, "index_not_ready"),
    ],
)
async def test_every_refusal_has_one_shape(site, method, path, status, detail):
    """The framework's refusals and our own failures look like all others."""
    async with site.send(method, path) as response:
        body = await response.json()

    assert response.status == status
    assert body["detail"] == detail
    assert body["message"].endswith(".")
    assert body.keys() <= {"detail", "message", "errors"}
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["X-Request-Id"]


async def test_405_names_the_methods_there_are(site):
    """`Allow` tells what would have worked."""
    async with site.send("DELETE", "/counted") as response:
        assert response.headers["Allow"] == "GET,HEAD"


async def test_500_says_nothing_of_its_cause(site):
    """The cause is for the log, under the same request id."""
    async with site.get("/broken") as response:
        assert b"secret" not in await response.read()


@pytest.mark.parametrize(
    "sent",
    [
        b"NONSENSE\r\n\r\n",
        b"GET /counted HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /counted HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n",
        b"GET /counted HTTP/1.1\r\nHost: x\r\nContent-Length: minus\r\n\r\n",
        b"GET /nowhere HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nConnection: close\r\n\r\n",
        b"GET /counted HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nConnection: close\r\n\r\n",
    ],
)
async def test_what_is_no_http_gets_the_same_shape(site, sent):
    """Even what fails before there is a route."""
    host, port = site.address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))

    writer.write(sent)
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()

    assert int(head.split(b" ")[1]) in (400, 417)
    assert orjson.loads(body)["detail"] == "invalid_request"
    assert b"X-Request-Id" in head


async def test_a_request_id_is_kept_when_it_is_sane(site):
    """Callers may name their request; anything that could harm a log is replaced."""
    async with site.get("/counted", X_Request_Id="mine-1") as kept:
        assert kept.headers["X-Request-Id"] == "mine-1"
    async with site.get("/counted", X_Request_Id="no spaces allowed") as replaced:
        assert replaced.headers["X-Request-Id"] != "no spaces allowed"


async def test_answers_are_kept_until_the_stores_change(site):
    """From the second one on; a new version is made anew."""
    said = []
    for version in (1, 1, 1, 2, 2):
        site.version[0] = version
        async with site.get("/counted") as response:
            said.append(await response.read())

    assert said == [b"1", b"2", b"2", b"3", b"3"]


async def by_name(request: web.Request) -> Requester | None:
    """Somebody, if they say so."""
    name = request.headers.get("Authorization")
    if name is None:
        return None
    if name == "of no use":
        return Requester(None, NotAuthenticated(), by_cookie=False)
    who = SignedIn(token(Did(f"did:plc:{name}")))
    return Requester(who, None, by_cookie=False)


async def test_answers_for_somebody_are_kept_by_nobody_else():
    """Made each time, private, and not given to the next who asks; others get what is kept for nobody."""
    async with running(routes(), {Calls: Calls()}, who_asks=by_name) as site:
        said = []
        for name in (None, None, "mara", "mara", "ben", "of no use", None):
            async with site.get("/mine", **({} if name is None else {"Authorization": name})) as response:
                said.append(await response.json())
                caching, vary = response.headers["Cache-Control"], response.headers["Vary"]
            assert caching == ("private, no-cache" if name in ("mara", "ben") else "public, max-age=2")
            assert "Authorization, Cookie" in vary

    theirs = ["did:plc:mara 3", "did:plc:mara 4", "did:plc:ben 5"]
    assert said == ["nobody 1", "nobody 2", *theirs, "nobody 2", "nobody 2"]


async def test_a_renewed_cookie_goes_with_whatever_is_answered() -> None:
    """Kept, made, or refused; nobody keeps an answer that has it, and one of its own wins."""

    async def renewed(_: web.Request) -> Requester | None:
        whose = b"key", MARA, Handle("mara.example"), GrantId("1"), frozenset[str]()
        session = Session(*whose, datetime(9999, 1, 1, tzinfo=UTC), None, renewed=True)
        return Requester(InSession(session, "secret", by_cookie=True), None, by_cookie=True)

    made = routes()

    @made.get("/left", acts=True)
    async def left() -> Answer[str]:
        """Take the cookie away."""
        return Answer(b'"bye"', headers={"Set-Cookie": "session_id="})

    async with running(made, {Calls: Calls()}, who_asks=renewed) as site:
        for path in ("/counted", "/counted", "/counted", "/mine", "/nowhere", "/broken"):
            async with site.get(path) as response:
                assert response.headers["Set-Cookie"].startswith("session_id=secret; Max-Age=1209600"), path
                assert response.headers["Cache-Control"] == "no-store"
                assert await response.read()
        async with site.get("/left") as response:
            assert response.headers["Set-Cookie"] == "session_id="


async def test_what_depends_on_nobody_is_kept_for_everybody():
    """Whoever asks for it."""
    async with (
        running(routes(), {Calls: Calls()}, who_asks=by_name) as site,
        site.get("/counted"),
        site.get("/counted") as kept,
        site.get("/counted", Authorization="mara") as found,
    ):
        assert await kept.read() == await found.read() == b"2"
        assert "Cookie" not in found.headers["Vary"]


async def test_a_get_that_acts_is_never_kept(site):
    """Nor asked about by HEAD, which must do nothing."""
    async with site.get("/once") as first, site.get("/once") as second:
        assert await first.read() != await second.read()
        assert second.headers["Cache-Control"] == "no-store"
    async with site.send("HEAD", "/once") as headed:
        assert headed.status == 405


async def test_somebody_is_counted_by_their_account():
    """Two at one address do not share a limit, and one at two addresses has one."""
    async with running(routes(), {Calls: Calls()}, Settings(rate_limit="1/minute"), who_asks=by_name) as site:
        statuses = []
        for name in ("mara", "ben", "mara"):
            async with site.get("/counted", Authorization=name) as response:
                statuses.append(response.status)

    assert statuses == [200, 200, 429]


async def test_an_answer_that_is_still_right_is_not_sent_again(site):
    """304 carries the ETag and no body."""
    async with site.get("/large") as full:
        etag = full.headers["ETag"]
    for condition in (etag, etag.removeprefix("W/"), f'"other", {etag}', "*"):
        async with site.get("/large", If_None_Match=condition) as unchanged:
            assert unchanged.status == 304
            assert unchanged.headers["ETag"] == etag
            assert await unchanged.read() == b""
    async with site.get("/large", If_None_Match='"other"') as changed:
        assert changed.status == 200


async def test_large_answers_are_compressed_for_who_can_read_it(site):
    """gzip when asked for, and the cache headers say that it depends."""
    async with site.get("/large", Accept_Encoding="gzip, br") as response:
        assert response.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(await response.read()) == LARGE
        assert "Accept-Encoding" in response.headers["Vary"]
    async with site.get("/large", Accept_Encoding="identity") as response:
        assert await response.read() == LARGE


async def test_an_answer_may_have_headers_of_its_own(site):
    """They win over those of every answer."""
    async with site.get("/framed") as response:
        assert response.headers["Content-Security-Policy"] == "frame-ancestors *"
        assert response.headers["Content-Type"] == "text/html"


async def test_any_page_may_read_answers_without_credentials(site):
    """`*`, on refusals too, and never with credentials."""
    for path in ("/counted", "/nowhere"):
        async with site.get(path, Origin="https://anywhere.example") as response:
            assert response.headers["Access-Control-Allow-Origin"] == "*"
            assert "Access-Control-Allow-Credentials" not in response.headers
            assert "X-Request-Id" in response.headers["Access-Control-Expose-Headers"]


async def test_preflights_are_answered(site):
    """A browser that asks first learns what it may send."""
    preflight = {"Origin": "https://anywhere.example", "Access_Control_Request_Method": "GET"}
    async with site.send("OPTIONS", "/counted", **preflight) as response:
        assert response.status == 204
        assert response.headers["Access-Control-Allow-Origin"] == "*"
        assert "GET" in response.headers["Access-Control-Allow-Methods"]
    async with site.send("OPTIONS", "/nowhere", **preflight) as response:
        assert response.status == 404


async def test_only_the_web_application_may_send_credentials():
    """Its origin is named back; others stay anonymous, and caches are told that answers differ."""
    settings = Settings(web_url="https://app.example")
    async with running(routes(), {Calls: Calls()}, settings) as site:
        async with site.get("/counted", Origin="https://app.example") as ours:
            assert ours.headers["Access-Control-Allow-Origin"] == "https://app.example"
            assert ours.headers["Access-Control-Allow-Credentials"] == "true"
        async with site.get("/counted", Origin="https://other.example") as theirs:
            assert theirs.headers["Access-Control-Allow-Origin"] == "*"
            assert "Access-Control-Allow-Credentials" not in theirs.headers
            assert "Origin" in theirs.headers["Vary"]


async def test_more_than_the_limit_is_refused_with_how_long_to_wait():
    """429 carries the RateLimit headers and Retry-After; what tells how the service is stays open."""
    async with running(routes(), {Calls: Calls()}, Settings(rate_limit="3/minute")) as site:
        statuses = []
        for path in ("/counted", "/nowhere", "/counted", "/counted"):
            async with site.get(path) as response:
                statuses.append(response.status)
                body = await response.json()

        assert statuses == [200, 404, 200, 429]
        assert body["detail"] == "rate_limited"
        assert response.headers["RateLimit-Limit"] == "3"
        assert response.headers["RateLimit-Remaining"] == "0"
        assert 1 <= int(response.headers["Retry-After"]) <= 60
        assert int(response.headers["RateLimit-Reset"]) <= 60
        async with site.get("/health") as health:
            assert health.status == 200
            assert "RateLimit-Limit" not in health.headers


async def test_too_many_guesses_are_refused_as_too_many_requests() -> None:
    """429 that says how long to wait, before anybody is asked who it is."""

    async def spent(_: web.Request) -> Requester | None:
        raise Spent(Allowance(False, 100, 0, 7))

    async with running(routes(), {Calls: Calls()}, who_asks=spent) as site, site.get("/counted") as response:
        assert response.status == 429
        assert (await response.json())["detail"] == "rate_limited"
        assert response.headers["Retry-After"] == "7"
        assert (await response.json())["message"] == "Too many requests; try again in 7 seconds."


async def test_forwarded_addresses_count_only_from_trusted_proxies():
    """Behind a proxy each client has its own limit; without one nobody can invent addresses."""
    trusting = Settings(rate_limit="1/minute", trusted_proxies=("127.0.0.0/8",))
    for settings, second in ((trusting, 200), (Settings(rate_limit="1/minute"), 429)):
        async with running(routes(), {Calls: Calls()}, settings) as site:
            async with site.get("/counted", X_Forwarded_For="203.0.113.1") as response:
                assert response.status == 200
            async with site.get("/counted", X_Forwarded_For="203.0.113.2") as response:
                assert response.status == second


async def test_https_is_insisted_on_where_the_public_uses_it():
    """HSTS belongs to https addresses only."""
    for url, expected in (("https://api.example", True), ("http://api.example", False)):
        async with (
            running(routes(), {Calls: Calls()}, Settings(public_url=url)) as site,
            site.get("/counted") as response,
        ):
            assert ("Strict-Transport-Security" in response.headers) is expected


async def test_lag_is_told_on_every_answer(site):
    """X-Index-Lag, refusals included."""
    for path in ("/counted", "/nowhere", "/health"):
        async with site.get(path) as response:
            assert response.headers["X-Index-Lag"] == "0.500"


async def test_each_request_is_one_line_of_the_log(site):
    """With its id, its path without the query, its status and its time."""
    async with site.get("/counted?token=secret", X_Request_Id="r1") as response:
        await response.read()
    site.access_log.flush()

    (line,) = [orjson.loads(text) for text in site.log.getvalue().splitlines()]

    assert line["request_id"] == "r1"
    assert line["path"] == "/counted"
    assert line["status"] == 200
    assert line["event"] == "request"
    assert "secret" not in site.log.getvalue()


async def test_each_request_is_counted_under_its_pattern(site):
    """Routes and statuses are labels; addresses that do not exist share one."""
    for path in ("/counted", "/nowhere", "/elsewhere"):
        async with site.get(path) as response:
            await response.read()

    text = site.metrics.text().decode()

    assert 'fmsvc_requests_total{route="/counted",status="200"} 1.0' in text
    assert 'fmsvc_requests_total{route="none",status="404"} 2.0' in text
    assert 'fmsvc_request_seconds_count{route="/counted"} 1.0' in text
