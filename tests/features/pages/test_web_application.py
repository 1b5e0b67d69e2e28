"""A web application on another origin signs people in, in a real browser; other sites sign nobody in."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from schemas.settings import Settings
from tests.features.pages.browser import Browser
from tests.features.pages.visitor import Visitor
from tests.network.person import Person
from tests.network.testnet import Testnet
from tests.patience import PATIENCE_SECONDS
from tests.readapi.door import opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.network]

# What an application does when it is opened: exchange the token in its address, and tell what came of it.
SCRIPT = """
const api = %s;
const token = new URLSearchParams(location.search).get("exchange_token");
const tell = (words) => { document.title = words; };
if (token) {
  const sent = { method: "POST", credentials: "include", body: JSON.stringify({ exchange_token: token }),
                 headers: { "Content-Type": "application/json" } };
  fetch(`${api}/auth/exchange`, sent).then((answer) => answer.json().then((told) => {
    tell(answer.ok ? `in as ${told.did}` : `refused ${answer.status}`);
  }));
}
const startByScript = (handle) => fetch(`${api}/auth/start?handle=${handle}`, {
  method: "POST", credentials: "include", headers: { Accept: "application/json" },
}).then((answer) => answer.json()).then((told) => { location.href = told.auth_url; });
"""


@asynccontextmanager
async def hosted(body: str = "") -> AsyncIterator[tuple[TestServer, list[str]]]:
    """A site of one page, whose HTML may still be changed."""
    shown = [body]

    async def page(_: web.Request) -> web.Response:
        return web.Response(text=f"<!doctype html><title>-</title>{shown[0]}", content_type="text/html")

    application = web.Application()
    application.router.add_get("/", page)
    async with TestServer(application, host="127.0.0.1") as server:
        yield server, shown


@pytest.mark.slow
async def test_an_application_signs_people_in_and_other_sites_do_not(
    shared_net: Testnet, chromium: Browser, tmp_path: Path
) -> None:
    """By its form and by its script; a stranger's token or link changes nothing of who is there."""
    account = await shared_net.pds[0].create_account("web-visitor.test")
    stranger = Person(await shared_net.pds[0].create_account("web-stranger.test"))
    async with hosted() as (app, shown), hosted() as (evil, link):
        web_url = str(app.make_url("")).rstrip("/")
        async with opened(shared_net, Settings(data_dir=tmp_path), web_url=web_url) as door:
            start = f"{door.address}/auth/start?handle="
            shown[0] = (
                f'<form method="post" action="{start}{account.handle}"><button>Sign in</button></form>'
                f"<script>{SCRIPT % json.dumps(door.address)}</script>"
            )
            link[0] = f'<a href="{start}{stranger.account.handle}">Free music</a>'
            page = await chromium.page(web_url, profile=await chromium.profile())
            visitor = Visitor(account, page, web_url)
            signed_in = f"in as {account.did}"

            await page.click("Sign in")
            await visitor.agree()
            await page.arrive(f"{web_url}/?exchange_token=")
            await titled(visitor, signed_in)

            token = await door.arrive(stranger, await door.start(stranger))
            await page.call("Page.navigate", url=f"{web_url}/?exchange_token={token}")
            await titled(visitor, "refused 401")
            me = f"fetch('{door.address}/auth/me', {{credentials: 'include'}}).then((it) => it.json())"
            still = (await page.evaluate(me))["did"]

            # Another site as browsers count sites: a name instead of the address.
            await page.call("Page.navigate", url=f"http://localhost:{evil.port}/")
            await page.click("Free music")
            await page.arrive(start)
            asked = await page.evaluate("document.querySelector('h1').textContent")

            await page.call("Page.navigate", url=web_url)
            await page.arrive(f"{web_url}/")
            await page.evaluate(f"void startByScript({json.dumps(account.handle)})")
            await visitor.agree()
            await page.arrive(f"{web_url}/?exchange_token=")
            await titled(visitor, signed_in)

    assert still == account.did
    assert asked == "Sign in?"


async def titled(visitor: Visitor, title: str) -> None:
    """Wait until the page tells this."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        await visitor.page.until(f"document.title === {json.dumps(title)}")
