"""HTTP on the socket of the process that has the snapshots open.

Only the service's own user can open the data folder, so no one else can send it a statement.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from readapi.errors import IndexNotReady
from readapi.index.snapshots import messages
from readapi.index.snapshots.local import LocalSnapshots
from schemas import control_socket


class Occupied(Exception):
    """Another process answers on the socket."""


@asynccontextmanager
async def answer_queries(folder: Path, opened: Mapping[str, LocalSnapshots]) -> AsyncIterator[None]:
    """Answer on the data folder's socket while the block runs. `opened`: by link.

    Raises Occupied, and OSError when the socket cannot be made.
    """

    async def refresh(request: web.Request) -> web.Response:
        snapshots = opened[request.query["link"]]
        await snapshots.refresh()
        return web.Response(body=messages.encode_state(snapshots.state))

    async def rows(request: web.Request) -> web.Response:
        snapshots = opened[request.query["link"]]
        try:
            found = await snapshots.find(messages.decode_query(await request.read()))
        except IndexNotReady as error:
            return web.Response(status=error.status, text=error.message)
        return web.Response(body=messages.encode_rows(found))

    app = web.Application()
    app.router.add_post(messages.REFRESH, refresh)
    app.router.add_post(messages.ROWS, rows)
    path = messages.socket_of(folder)
    if control_socket.is_listening(path):
        raise Occupied(path)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        folder.mkdir(parents=True, exist_ok=True)  # it may be the first process of a new service
        path.unlink(missing_ok=True)
        await web.UnixSite(runner, path).start()
        yield
    finally:
        await runner.cleanup()
