"""The reference for every route: aiohttp and uvloop answering a fixed JSON body, and nothing else.

python -m tests.bench.reference PORT BODY_FILE
"""

import asyncio
import sys
from pathlib import Path

import uvloop
from aiohttp import web


async def serve(port: int, body: bytes) -> None:
    """Answer every path with the same bytes."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), Path(sys.argv[2]).read_bytes()))
