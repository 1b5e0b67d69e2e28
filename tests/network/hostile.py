"""A directory, personal data server and authorization server in one, on loopback, that says what it is told.

    async with Hostile() as server:
        server.changes["token"] = {"sub": "did:plc:somebodyelse"}  # None: left out
        server.instead["server"] = redirect

It believes everything that it is told in turn: what a server checks is for the real one to check.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from aiohttp import web

from tests.network import doubles

Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]
ELSEWHERE = "elsewhere"
PAGE = b"<!doctype html><title>Welcome</title>"


class Hostile(doubles.Loopback):
    """`changes` to each endpoint's answer; `instead`: who answers. `nonces`: each asked for in turn."""

    def __init__(self) -> None:
        super().__init__(
            web.get("/xrpc/com.atproto.identity.resolveHandle", self._answer("handle")),
            web.get("/.well-known/oauth-protected-resource", self._answer("resource")),
            web.get("/.well-known/oauth-authorization-server", self._answer("server")),
            *(web.post(f"/{endpoint}", self._answer(endpoint)) for endpoint in ("par", "token", "revoke")),
            web.get(f"/{ELSEWHERE}", self._answer(ELSEWHERE)),
            web.get("/{did}", self._answer("document")),
        )
        self.changes: dict[str, dict[str, Any]] = {}
        self.instead: dict[str, Answering] = {}
        self.nonces: Iterator[str] = iter(())
        self.tells_nonce = True
        self.asked: Counter[str] = Counter()
        self.forms: list[dict[str, str]] = []

    def _answer(self, endpoint: str) -> Answering:
        async def answer(request: web.Request) -> web.StreamResponse:
            self.asked[endpoint] += 1
            if request.method == "POST":
                self.forms.append({name: str(value) for name, value in (await request.post()).items()})
                if (nonce := next(self.nonces, None)) is not None:
                    told = {"DPoP-Nonce": nonce} if self.tells_nonce else {}
                    return web.json_response({"error": "use_dpop_nonce"}, status=400, headers=told)
            if endpoint in self.instead:
                return await self.instead[endpoint](request)
            said = self._truth()[endpoint] | self.changes.get(endpoint, {})
            said = {name: value for name, value in said.items() if value is not None}
            return web.json_response(said, status=201 if endpoint == "par" else 200)

        return answer

    def _truth(self) -> dict[str, dict[str, Any]]:
        return {
            "handle": {"did": doubles.ALICE},
            "document": {
                "id": doubles.ALICE,
                "alsoKnownAs": ["at://alice.test"],
                "service": doubles.service(self.url),
            },
            "resource": {"resource": self.url, "authorization_servers": [self.url]},
            "server": {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize?ui=plain",
                "token_endpoint": f"{self.url}/token",
                "pushed_authorization_request_endpoint": f"{self.url}/par",
                "revocation_endpoint": f"{self.url}/revoke",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
                "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
                "dpop_signing_alg_values_supported": ["ES256"],
                "scopes_supported": ["atproto"],
                "authorization_response_iss_parameter_supported": True,
                "require_pushed_authorization_requests": True,
                "client_id_metadata_document_supported": True,
            },
            "par": {"request_uri": "urn:request:1", "expires_in": 60},
            "token": {
                "access_token": "access",
                "refresh_token": "refresh",
                "token_type": "DPoP",
                "expires_in": 3600,
                "scope": "atproto",
                "sub": doubles.ALICE,
            },
            "revoke": {},
            ELSEWHERE: {},
        }


async def redirect(_: web.Request) -> web.StreamResponse:
    """Elsewhere is better."""
    return web.Response(status=302, headers={"Location": f"/{ELSEWHERE}"})


async def page(_: web.Request) -> web.StreamResponse:
    """Something for people."""
    return web.Response(body=PAGE, content_type="text/html")


async def huge(_: web.Request) -> web.StreamResponse:
    """JSON, and then blanks."""
    return web.Response(body=b"{}" + b" " * (1 << 20), content_type="application/json")


async def endless(request: web.Request) -> web.StreamResponse:
    """A list that never ends."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    while True:
        await response.write(b'["", ' * 4096)


async def stall(_: web.Request) -> web.StreamResponse:
    """Later, perhaps."""
    await asyncio.sleep(1)
    return web.Response()


async def broken(_: web.Request) -> web.StreamResponse:
    """Out of order."""
    return web.Response(status=503)


async def hang_up(request: web.Request) -> web.StreamResponse:
    """No answer at all."""
    assert request.transport is not None
    request.transport.close()
    return web.Response()


def refusing(error: str, status: int = 400) -> Answering:
    """A refusal in the protocol's words."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response({"error": error, "error_description": "because\n\x1b[31m"}, status=status)

    return answer
