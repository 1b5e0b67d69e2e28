"""Listens for signed nudges of API machines at FMSVC_NUDGE_URL."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import orjson
import structlog
from aiohttp import web

from indexer.control.nudge import Nudged
from indexer.control.prove import NotProven
from indexer.replication import signed_nudges
from schemas import control_socket
from schemas.ids import AtUri

log = structlog.get_logger()

Nudge = Callable[[AtUri], Awaitable[Nudged]]


@asynccontextmanager
async def listening(url: str, key: str, nudge: Nudge) -> AsyncIterator[None]:
    """Answer nudges until the block ends. Without them writes are shown later: a failure is logged."""
    app = web.Application(client_max_size=signed_nudges.MOST_BYTES)
    app.router.add_post(signed_nudges.PATH, _handler(key, nudge))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    parts = urlsplit(url)
    try:
        try:
            await web.TCPSite(runner, parts.hostname, parts.port or 80).start()
        except OSError as error:
            log.error("nudges of other machines not received", address=url, reason=str(error))
        yield
    finally:
        await runner.cleanup()


def _handler(key: str, nudge: Nudge) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        body = await request.read()
        signature = request.headers.get(signed_nudges.SIGNATURE_HEADER, "")
        sent_at = request.headers.get(signed_nudges.TIME_HEADER, "")
        if not signature.isascii() or not signed_nudges.is_signed(key, sent_at, signature, body, time.time()):
            return web.json_response(
                {"message": "The request is not signed with this key, or too old."}, status=403
            )
        status, content = await _answer(nudge, body)
        answered = orjson.dumps(content)
        signed = signed_nudges.sign_answer(key, signature, status, answered)
        return web.Response(
            status=status,
            body=answered,
            content_type="application/json",
            headers={signed_nudges.SIGNATURE_HEADER: signed},
        )

    return answer


async def _answer(nudge: Nudge, body: bytes) -> tuple[int, dict[str, object]]:
    uri = control_socket.decode_uri(body)
    if uri is None:
        return 400, {"message": "The body must be {did, uri}: a DID and an at-uri of one of its records."}
    try:
        nudged = await nudge(uri)
    except NotProven as error:
        return 404 if error.missing else 502, {"message": str(error)}
    return 200, {"rev": nudged.rev, "op": nudged.op, "cid": nudged.cid}
