"""A token endpoint with the rules of the real one: a refresh token works once, and a second use revokes."""

import asyncio
from datetime import UTC, datetime, timedelta

import aiohttp
from aiohttp import web

from readapi.oauth.errors import OAuthRefused, Unavailable
from readapi.oauth.grant import Grant, Tokens
from schemas.ids import Did, Handle
from tests.network.doubles import Loopback

LIFE = timedelta(hours=1)


class TokenServer(Loopback):
    """Answers `hold_seconds` after it has exchanged a token: so long nobody but it knows the new one."""

    def __init__(self, hold_seconds: float = 0.0) -> None:
        super().__init__(web.post("/token", self._token), web.post("/revoke", self._revoke))
        self.hold_seconds = hold_seconds
        self.current = "refresh-token-1"
        self.used: list[str] = []
        self.revoked = False
        self.down = False
        self.asked = asyncio.Event()

    async def _token(self, request: web.Request) -> web.Response:
        if self.down:
            return web.Response(status=503)
        token = (await request.json())["refresh_token"]
        self.revoked = self.revoked or token != self.current
        if self.revoked:
            return web.Response(status=400)
        self.used.append(token)
        self.current = f"refresh-token-{len(self.used) + 1}"
        answer = {"access": f"access-token-{len(self.used) + 1}", "refresh": self.current}
        self.asked.set()
        await asyncio.sleep(self.hold_seconds)
        return web.json_response(answer)

    async def _revoke(self, _: web.Request) -> web.Response:
        if self.down:
            return web.Response(status=503)
        self.revoked = True
        return web.Response()


class TokenClient:
    """Asks it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.called: Handle | None = None  # by everybody

    async def handle(self, did: Did) -> Handle | None:
        """As readapi.oauth would."""
        return self.called

    async def refresh(self, grant: Grant) -> Tokens:
        """As readapi.oauth would."""
        answer = await self._post("token", {"refresh_token": grant.tokens.refresh_token})
        return Tokens(answer["access"], answer["refresh"], datetime.now(UTC) + LIFE, grant.tokens.scopes)

    async def revoke(self, grant: Grant) -> None:
        """As readapi.oauth would."""
        await self._post("revoke", {"token": grant.tokens.refresh_token})

    async def _post(self, path: str, body: dict[str, str | None]) -> dict[str, str]:
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.post(f"{self._url}/{path}", json=body) as response,
            ):
                if response.status == 400:
                    raise OAuthRefused("invalid_grant", "Your server has taken the grant back.")
                response.raise_for_status()
                return dict(await response.json()) if path == "token" else {}
        except aiohttp.ClientError as error:
            raise Unavailable("Your server cannot be reached.", str(error)) from error
