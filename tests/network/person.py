"""A person in front of their own server's pages, with a browser that keeps cookies but shows nothing.

    back = await Person(account).agree(auth_url)  # what the browser brings to the callback

They use the JSON interface that the pages themselves use.
"""

import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import aiohttp

from tests.network.pds import Account, Json

NAVIGATION = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "User-Agent": "person"}
FETCH = {
    "Sec-Fetch-Mode": "same-origin",
    "Sec-Fetch-Site": "same-origin",
    "Sec-Fetch-Dest": "empty",
    "User-Agent": "person",
}


class TurnedAway(Exception):
    """The page said no; the message holds its status and its words."""


@dataclass(slots=True)
class Person:
    """Somebody who owns an account, at one browser."""

    account: Account
    cookies: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def origin(self) -> str:
        return self.account.pds.url

    async def agree(self, page: str, scope: str | None = None) -> dict[str, str]:
        """Sign in and agree, to less than was asked for if `scope` says so."""
        if back := await self.open(page):
            return back
        await self.sign_in(page)
        consent = {"did": self.account.did} | ({} if scope is None else {"scope": scope})
        return await self._led_back(page, await self._post("consent", page, consent))

    async def refuse(self, page: str) -> dict[str, str]:
        """Press the other button."""
        await self.open(page)
        return await self._led_back(page, await self._post("reject", page, {}))

    async def open(self, page: str) -> dict[str, str]:
        """Open the page of a link, which leads back at once if they agreed before. Raises TurnedAway."""
        headers = {**NAVIGATION, **self._cookie(), "Sec-Fetch-Site": "cross-site"}
        async with self.account.pds.session.get(page, headers=headers, allow_redirects=False) as response:
            self._keep(response)
            if response.status not in (200, 303):
                raise TurnedAway(f"{response.status} {(await response.text())[:300]}")
            return {} if response.status == 200 else _brought_back(response)

    async def sign_in(self, page: str, password: str | None = None) -> None:
        """Fill in the form. Raises TurnedAway."""
        account = self.account
        form = {"locale": "en", "username": account.handle, "remember": True}
        await self._post("sign-in", page, form | {"password": password or account.password})

    async def end_all(self) -> None:
        """Let no application act for them any more."""
        for agreement in await self.agreements():
            ended = {"did": self.account.did, "tokenId": agreement["tokenId"]}
            await self._post("revoke-oauth-session", f"{self.origin}/account", ended)

    async def agreements(self) -> list[Json]:
        """The applications that may act for them."""
        deed = f"oauth-sessions?did={self.account.did}"
        listed: list[Json] = await self._ask("GET", deed, f"{self.origin}/account")
        return listed

    async def _led_back(self, page: str, answer: Json) -> dict[str, str]:
        """What the browser is sent back to the application with."""
        headers = {**NAVIGATION, **self._cookie(), "Sec-Fetch-Site": "same-origin", "Referer": page}
        session = self.account.pds.session
        async with session.get(answer["url"], headers=headers, allow_redirects=False) as response:
            if response.status != 303:
                raise TurnedAway(f"{response.status} {await response.text()}")
            return _brought_back(response)

    async def _post(self, deed: str, page: str, body: Json) -> Json:
        answer: Json = await self._ask("POST", deed, page, body)
        return answer

    async def _ask(self, method: str, deed: str, page: str, body: Json | None = None) -> Any:
        self.cookies.setdefault("csrf-token", secrets.token_hex(8))
        headers = {**FETCH, **self._cookie(), "Origin": self.origin, "Referer": page}
        headers["X-CSRF-Token"] = self.cookies["csrf-token"]
        url = f"{self.origin}/@atproto/oauth-provider/~api/{deed}"
        async with self.account.pds.session.request(method, url, json=body, headers=headers) as response:
            self._keep(response)
            if response.status != 200:
                raise TurnedAway(f"{deed}: {response.status} {await response.text()}")
            return await response.json()

    def _keep(self, response: aiohttp.ClientResponse) -> None:
        # By hand, because they are for https only, which a jar would heed.
        self.cookies |= {name: morsel.value for name, morsel in response.cookies.items()}

    def _cookie(self) -> dict[str, str]:
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}


def _brought_back(response: aiohttp.ClientResponse) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(response.headers["Location"]).query))
