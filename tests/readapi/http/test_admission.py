"""Routes say what they need of whoever uses them, and get nobody who has less."""

from typing import Any

import pytest
from aiohttp import web

from readapi.errors import SessionExpired
from readapi.http.endpoint import Routes
from readapi.http.viewer import InSession, Requester, SignedIn
from schemas.access import Viewer
from schemas.api.shape import Asked
from schemas.settings import Settings
from tests.readapi.site import Site, running
from tests.readapi.state.people import MARA, token

LIKES, PLAYS = frozenset({"atproto", "repo:our.music.like"}), frozenset({"atproto"})
JSON = {"Content-Type": "application/json"}
ENDED = Requester(
    SignedIn(token(ended_because="Taken back.")), SessionExpired("Taken back."), by_cookie=False
)


class Greeting(Asked):
    """What is to be said, and how often."""

    word: str
    times: int = 1


def routes() -> Routes:
    made = Routes("test")

    @made.post("/like", requires=("like",))
    async def like(viewer: Viewer) -> list[str]:
        """Like."""
        return [viewer.did]

    @made.post("/sign-out", even_ended=True)
    async def sign_out(who: SignedIn) -> None:
        """Leave."""

    @made.post("/wave", from_any_page=True)
    async def wave(who: SignedIn | None) -> list[str]:
        """Wave."""
        return [] if who is None else [who.did]

    @made.delete("/session")
    async def end(who: InSession) -> None:
        """End."""

    @made.put("/like", requires=("like",))
    async def put_like(greeting: Greeting, viewer: Viewer) -> list[str]:
        """Replace a like."""
        return [viewer.did, greeting.word]

    @made.patch("/like", requires=("like",))
    async def patch_like(greeting: Greeting, viewer: Viewer) -> list[str]:
        """Change a like."""
        return [greeting.word, viewer.did]

    @made.post("/greet")
    async def greet(greeting: Greeting, who: SignedIn | None) -> list[str]:
        """Greet."""
        return [greeting.word] * greeting.times + ([] if who is None else [who.did])

    return made


def site(asker: Requester | None) -> Any:
    async def who_asks(_: web.Request) -> Requester | None:
        return asker

    return running(routes(), settings=Settings(namespace="our.music"), who_asks=who_asks)


async def answer(site: Site, method: str, path: str, **sent: Any) -> tuple[int, Any]:
    assert site.client is not None
    async with site.client.request(method, site.address + path, **sent) as response:
        return response.status, await response.json() if response.status != 204 else None


def having(scopes: frozenset[str]) -> Requester:
    return Requester(SignedIn(token(scopes=scopes)), None, by_cookie=False)


async def test_what_was_granted_decides() -> None:
    """The scope of the namespace that this service has; 403 names what is missing."""
    async with site(having(LIKES)) as here:
        assert await answer(here, "POST", "/like") == (200, [MARA])
    async with site(having(PLAYS)) as here:
        status, body = await answer(here, "POST", "/like")

    assert (status, body["detail"]) == (403, "scope_upgrade_required")
    assert "repo:our.music.like" in body["message"]


async def test_what_is_replaced_or_changed_is_asked_for_like_what_is_done() -> None:
    """PUT and PATCH have a body, need scopes, and keep other sites' pages out."""
    for method, said in (("PUT", [MARA, "ho"]), ("PATCH", ["ho", MARA])):
        async with site(having(LIKES)) as here:
            assert await answer(here, method, "/like", json={"word": "ho"}) == (200, said)
            assert await answer(here, method, "/like", data={"word": "ho"}) == (200, said)
        async with site(having(PLAYS)) as here:
            status, body = await answer(here, method, "/like", json={"word": "ho"})
            assert (status, body["detail"]) == (403, "scope_upgrade_required")
        async with site(None) as here:
            foreign = await answer(here, method, "/like", json={}, headers={"Origin": "https://a.example"})
            assert foreign[1]["detail"] == "foreign_origin"


async def test_whoever_has_ended_may_only_leave() -> None:
    """What needs nobody treats them as nobody; what needs somebody says why they are none."""
    async with site(ENDED) as here:
        liked = await answer(here, "POST", "/like")
        greeted = await answer(here, "POST", "/greet", json={"word": "hello"})
        left = await answer(here, "POST", "/sign-out")

    assert liked == (401, {"detail": "session_expired", "message": "Taken back."})
    assert greeted == (200, ["hello"])
    assert left == (204, None)


@pytest.mark.parametrize("origin", ["https://a.example", "null"])
async def test_any_page_may_let_nobody_do_what_says_so(origin: str) -> None:
    """An embedded player, say; not with the cookie of somebody."""
    headers = {"Origin": origin}
    async with site(None) as here:
        assert await answer(here, "POST", "/wave", headers=headers) == (200, [])
        status, _ = await answer(here, "POST", "/greet", json={"word": "ho"}, headers=headers)
        assert status == 403
    async with site(Requester(SignedIn(token()), None, by_cookie=True)) as here:
        status, body = await answer(here, "POST", "/wave", headers=headers)

    assert (status, body["detail"]) == (403, "foreign_origin")


async def test_a_form_of_ours_may_hide_where_it_is() -> None:
    """A browser that sends no referrer says `null`, and that the page is of the same origin; no other can."""
    async with site(Requester(SignedIn(token()), None, by_cookie=True)) as here:
        hidden = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
        ours, _ = await answer(here, "POST", "/wave", headers=hidden)
        theirs, _ = await answer(here, "POST", "/wave", headers=hidden | {"Sec-Fetch-Site": "cross-site"})

    assert (ours, theirs) == (200, 403)


async def test_a_developer_token_is_no_session() -> None:
    """401, though it is somebody's."""
    async with site(having(LIKES)) as here:
        status, body = await answer(here, "DELETE", "/session")

    assert (status, body["detail"]) == (401, "not_authenticated")


@pytest.mark.parametrize(
    "sent", [{"json": {"word": "ho", "times": 2}}, {"data": {"word": "ho", "times": "2"}}]
)
async def test_a_body_is_json_or_a_form(sent: dict[str, Any]) -> None:
    """Members that nobody asked for are ignored."""
    for members in sent.values():
        members["unknown"] = "x"
    async with site(None) as here:
        assert await answer(here, "POST", "/greet", **sent) == (200, ["ho", "ho"])


async def test_a_body_has_no_nul_characters() -> None:
    """Wherever they stand; what only looks like one is text."""
    async with site(None) as here:
        for members in ({"word": "h\0"}, {"word": "ho", "h\0": 1}, {"word": "ho", "more": [{"x": ["\0"]}]}):
            status, body = await answer(here, "POST", "/greet", json=members)
            assert (status, body["detail"]) == (422, "invalid_request")
            assert "NUL" in body["errors"][0]["message"]
        assert (await answer(here, "POST", "/greet", data={"word": "h\0"}))[0] == 422
        deep = b'{"word":"ho","more":' + b"[" * 1000 + b"]" * 1000 + b"}"
        assert (await answer(here, "POST", "/greet", data=deep, headers=JSON))[0] == 200
        assert await answer(here, "POST", "/greet", json={"word": "\\u0000"}) == (200, ["\\u0000"])


async def test_a_body_that_does_not_fit_is_told_member_by_member() -> None:
    """422; without any body every member is missing; other types are not read."""
    async with site(None) as here:
        wrong = await answer(here, "POST", "/greet", json={"times": "many"})
        nothing = await answer(here, "POST", "/greet")
        text = await answer(here, "POST", "/greet", data=b"ho", headers={"Content-Type": "text/plain"})
        large = await answer(here, "POST", "/greet", json={"word": "x" * 300_000})

    assert {error["field"] for error in wrong[1]["errors"]} == {"word", "times"}
    assert [error["field"] for error in nothing[1]["errors"]] == ["word"]
    assert [status for status, _ in (wrong, nothing, text, large)] == [422, 422, 415, 413]
