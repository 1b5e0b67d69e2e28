"""A PDS whose answers a test scripts, for what a real one cannot be made to do: lie, break, talk nonsense.

    async with ScriptedPds({"com.atproto.sync.getRepo": b"no CAR"}) as server:
        server.answers["com.atproto.repo.getRecord"] = {"value": {}}

Accounts with honest repos are hosted by `ForgedNetwork`, and everything else by the real PDS of `testnet.py`.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import cast

from aiohttp import web

from tests.network.doubles import Loopback

Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]
Answer = object  # bytes: the body as it is; an `Answering`: called with the request; anything else: JSON


class ScriptedPds(Loopback):
    """`answers`: by the NSID of the method; one without an answer is not implemented (501).

    `asked`: the methods that were called, in order.
    """

    def __init__(self, answers: MutableMapping[str, Answer] | None = None) -> None:
        super().__init__(web.route("*", "/xrpc/{method}", self._answer))
        self.answers = {} if answers is None else answers
        self.asked: list[str] = []

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        self.asked.append(method)
        await request.read()
        try:
            answer = self.answers[method]
        except KeyError:
            return web.json_response({"error": "MethodNotImplemented"}, status=501)
        if callable(answer):
            return await cast(Answering, answer)(request)
        return web.Response(body=answer) if isinstance(answer, bytes) else web.json_response(answer)
