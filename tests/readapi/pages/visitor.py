"""Somebody with an account at the real PDS, in front of a real browser of their own."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from tests.network.pds import Account
from tests.network.person import Person
from tests.readapi.pages.browser import Page
from tests.readapi.pages.plain_browser import PlainBrowser

OF_THE_PDS = ("Error with Permissions-Policy header", '["Uncompiled message')  # its own pages' complaints
UNSCRIPTED = ["*/static/*.js"]  # keeps the scripts of our pages from loading, and no others


def _is_of_the_pds(complaint: str) -> bool:
    """Whether a page of the PDS is the cause: it asks for an avatar without a CID, and ours never do."""
    return complaint.startswith(OF_THE_PDS) or ("getBlob?did=" in complaint and "cid=" not in complaint)


@dataclass(slots=True)
class Visitor:
    """One tab, and whose it is."""

    account: Account
    page: Page
    site: str

    @property
    def complaints(self) -> list[str]:
        """What the browser has to say of our pages."""
        return [one for one in self.page.complaints if not _is_of_the_pds(one)]

    async def sign_in(self, to: str = "/settings") -> None:
        """From the sign-in page to where they wanted to go."""
        await self.page.fill("[name=handle]", self.account.handle)
        await self.page.click("Continue to your server")
        await self.agree()
        await self.page.arrive(self.site + to)

    async def is_signed_in(self, to: str = "/settings") -> None:
        """The same without the pages of their server, which take a browser longest."""
        async with self._plain() as plain:
            await self._take_over(plain, to)

    async def is_given_token(self, name: str) -> str:
        """Somebody who signed in and made a developer token, likewise; the page shows it."""
        async with self._plain() as plain:
            shown = await plain.brought_back(await plain.led("/settings/tokens", name=name))
            await self._take_over(plain, shown)
        return await self._token()

    async def agree(self, account: Account | None = None) -> None:
        """Do at the server what it asks for, the password too unless it remembers it."""
        who = account or self.account
        await self.page.arrive(who.pds.url)
        await self.page.until(
            "document.querySelector('[name=password]') || /Authorize/.test(document.body.innerText)"
        )
        if await self.page.evaluate("!!document.querySelector('[name=password]')"):
            await self.page.fill("[name=password]", who.password)
            await self.page.click("Sign in")
        await self.page.click("Authorize")

    async def refuse(self) -> None:
        """Say no, once the server knows who it is."""
        await self.page.arrive(self.account.pds.url)
        await self.page.fill("[name=password]", self.account.password)
        await self.page.click("Sign in")
        await self.page.click("Deny access")

    async def create_token(self, name: str) -> str:
        """From the settings to a new developer token, which the page shows."""
        await self.page.fill("[name=name]", name)
        form = "document.querySelector('form[action=\"/settings/tokens\"]')"
        await self.page.evaluate(f"{form}.requestSubmit()")
        await self.agree()
        await self.page.arrive(f"{self.site}/login/return")
        return await self._token()

    async def goes(self, words: str, back_to: str) -> str:
        """Press what leads to another page of ours, and tell what that page says was done."""
        self.page.loaded.clear()
        await self.page.click(words)
        await self.page.loaded.wait()
        await self.page.arrive(self.site + back_to)
        return await self.told()

    async def told(self) -> str:
        """The note at the top of the page."""
        return str(await self.page.evaluate("document.querySelector('.note')?.textContent ?? ''"))

    async def shows(self, section: str) -> str:
        """The text of one section of the page."""
        found = f"document.getElementById({json.dumps(section)}).parentElement.innerText"
        return str(await self.page.evaluate(found))

    async def _token(self) -> str:
        return str(await self.page.evaluate("document.getElementById('token').value"))

    @asynccontextmanager
    async def _plain(self) -> AsyncIterator[PlainBrowser]:
        """A browser that shows nothing, in which they are signed in."""
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            yield await PlainBrowser(Person(self.account), self.site, client).signed_in()

    async def _take_over(self, plain: PlainBrowser, path: str) -> None:
        """Go on in this browser, with that one's cookies."""
        for cookie in plain.client.cookie_jar:
            await self.page.call("Network.setCookie", name=cookie.key, value=cookie.value, url=self.site)
        self.page.loaded.clear()
        await self.page.call("Page.navigate", url=self.site + path)
        await self.page.loaded.wait()
