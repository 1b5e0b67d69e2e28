"""A browser that shows nothing: it keeps cookies and sends forms, and follows nothing by itself."""

import asyncio
import html
import io
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from tests.features.pages.browser import Browser, Page
from tests.network.person import Person
from tests.patience import PATIENCE_SECONDS

HTML = {"Accept": "text/html"}


def leads_on(page: str) -> str:
    """Where a page goes on by itself."""
    refresh = re.search(r'<meta http-equiv="refresh" content="0; url=([^"]+)">', page)
    assert refresh is not None, page
    return html.unescape(refresh[1])


@dataclass(slots=True)
class PlainBrowser:
    """One browser that keeps cookies and follows nothing by itself, and the person in front of it."""

    person: Person
    site: str
    client: aiohttp.ClientSession

    def get(self, path: str) -> aiohttp.client._RequestContextManager:
        return self.client.get(self.site + path, headers=HTML, allow_redirects=False)

    def post(
        self, path: str, origin: str | None = None, **form: str
    ) -> aiohttp.client._RequestContextManager:
        headers = {**HTML, "Origin": origin or self.site}
        return self.client.post(self.site + path, data=form, headers=headers, allow_redirects=False)

    def cookie(self, name: str) -> str:
        """What the browser holds under this name."""
        return self.client.cookie_jar.filter_cookies(URL(self.site))[name].value

    async def led(self, path: str, **form: str) -> str:
        """Where a form leads: by a redirect, or by a page that goes on to another server."""
        async with self.post(path, **form) as answer:
            if answer.status == 303:
                return answer.headers["Location"]
            return leads_on(await answer.text())

    async def sent(self, path: str, **members: str | bytes) -> str:
        """Where a form with parts leads; bytes are files."""
        async with self.in_parts(path, **members) as answer:
            assert answer.status == 303, await answer.text()
            return answer.headers["Location"]

    async def refused(self, path: str, **members: str | bytes) -> tuple[int, str]:
        """The same of a form that leads nowhere: the status, and the page that is shown instead."""
        async with self.in_parts(path, **members) as answer:
            return answer.status, await answer.text()

    async def refused_plainly(self, path: str, **form: str) -> tuple[int, str, str]:
        """Send a form that is refused: the status, the sentence on the page that is shown, and the page."""
        async with self.post(path, **form) as answer:
            page = await answer.text()
            (sentence,) = re.findall(r'<p class="note bad" role="alert"[^>]*>([^<]+)</p>', page)
            return answer.status, sentence, page

    async def sends_files(self, path: str, files: list[tuple[str, bytes]], **members: str) -> tuple[int, str]:
        """Send a form with several files in one field: the status, and where it leads or what is shown."""
        form = aiohttp.FormData(members, default_to_multipart=True)
        for name, content in files:
            form.add_field("recordings", io.BytesIO(content), filename=name)
        headers = {**HTML, "Origin": self.site}
        async with self.client.post(
            self.site + path, data=form, headers=headers, allow_redirects=False
        ) as answer:
            return answer.status, answer.headers.get("Location") or await answer.text()

    def in_parts(self, path: str, **members: str | bytes) -> aiohttp.client._RequestContextManager:
        """Send a form with parts."""
        form = aiohttp.FormData(default_to_multipart=True)
        for name, member in members.items():
            if isinstance(member, bytes):
                form.add_field(name, io.BytesIO(member), filename=name if member else "")
            else:
                form.add_field(name, member)
        headers = {**HTML, "Origin": self.site}
        return self.client.post(self.site + path, data=form, headers=headers, allow_redirects=False)

    async def shows(self, path: str, words: str) -> bool:
        """Load a page until it tells this."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                async with self.get(path) as answer:
                    if answer.status == 200 and words in await answer.text():
                        return True
                await asyncio.sleep(0.1)

    async def brought_back(self, page: str) -> str:
        """Agree at the server; returns where the callback leads."""
        back = await self.person.agree(page)
        async with self.get(f"/auth/callback?{urlencode(back)}") as answer:
            assert answer.status == 303, await answer.text()
            return answer.headers["Location"].removeprefix(self.site)

    async def signed_in(self) -> "PlainBrowser":
        page = await self.led("/login", handle=self.person.account.handle)
        async with self.get(await self.brought_back(page)) as answer:
            assert answer.headers["Location"] == "/settings?note=signed-in"
        return self

    async def brought_back_to_settings(self, path: str) -> None:
        """Send a form, agree at the server, and come back."""
        async with self.get(await self.brought_back(await self.led(path))) as answer:
            assert answer.headers["Location"] == "/settings?note=permissions-changed"

    async def opens(self, chromium: Browser, path: str) -> Page:
        """A page in a real browser, in which they are signed in too."""
        page = await chromium.page(f"{self.site}/openapi.json", profile=await chromium.profile())
        session = {"name": "session_id", "value": self.cookie("session_id"), "url": self.site}
        await page.call("Network.setCookie", **session, httpOnly=True)
        await page.open(self.site + path)
        return page

    async def json(self, path: str) -> dict[str, Any]:
        """What the API says there."""
        async with self.client.get(self.site + path) as answer:
            assert answer.status == 200, answer.status
            return dict(await answer.json())

    async def text(self, path: str) -> str:
        async with self.get(path) as answer:
            assert answer.status == 200, answer.status
            return await answer.text()
