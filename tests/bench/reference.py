"""The reference for every route: aiohttp and uvloop answering a fixed JSON body, and nothing else.

`/BYTES` is answered with a body of that size, for answers that are larger.

python -m tests.bench.reference PORT BODY_FILE
"""

import asyncio
import sys
from functools import lru_cache
from pathlib import Path

import uvloop
from aiohttp import web


async def serve(port: int, body: bytes) -> None:
    """Answer `/` with these bytes."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    async def answer_sized(request: web.Request) -> web.Response:
        return web.Response(body=_body_of(request.path), content_type="application/json")

    app = web.Application()
    app.router.add_get("/", answer)
    app.router.add_get(r"/{bytes:\d+}", answer_sized)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


@lru_cache
def _body_of(path: str) -> bytes:
    return b'"%b"' % (b"x" * (int(path[1:]) - 2))


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), Path(sys.argv[2]).read_bytes()))
