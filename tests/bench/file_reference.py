"""The reference for recordings: aiohttp's own FileResponse on uvloop, and nothing else.

python -m tests.bench.file_reference PORT FILE
"""

import asyncio
import sys
from pathlib import Path

import uvloop
from aiohttp import web


async def serve(port: int, path: Path) -> None:
    """Answer every path with the file."""

    async def answer(_: web.Request) -> web.FileResponse:
        return web.FileResponse(path)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), Path(sys.argv[2])))
