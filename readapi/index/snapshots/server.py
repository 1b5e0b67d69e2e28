"""HTTP on the socket of the process that has the snapshots open.

Only the service's own user can open the data folder, so no one else can send it a statement.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

from readapi.errors import IndexNotReady
from readapi.index.snapshots import messages
from readapi.index.snapshots.interface import UNANSWERED
from readapi.index.snapshots.local import LocalSnapshots
from schemas import control_socket, steps

log = structlog.get_logger()

OTHER_TABLES: Final = (
    "This process and the one that reads the catalogue's snapshots know other tables; run the same version."
)


class Occupied(Exception):
    """Another process answers on the socket."""


@asynccontextmanager
async def answer_queries(folder: Path, opened: Mapping[str, LocalSnapshots]) -> AsyncIterator[None]:
    """Answer on the data folder's socket while the block runs. `opened`: by link.

    Raises Occupied, and OSError when the socket cannot be made.
    """

    async def state(request: web.Request) -> web.Response:
        return web.Response(body=messages.encode_state(opened[request.query[messages.LINK]].state))

    async def rows(request: web.Request) -> web.Response:
        snapshots = opened[request.query[messages.LINK]]
        found = await snapshots.find(messages.decode_query(await request.read()))
        body = messages.encode_rows(found)
        if len(body) > messages.MOST_BYTES:
            raise IndexNotReady(UNANSWERED)
        return web.Response(body=body)

    app = web.Application(middlewares=[_refuse])
    app.router.add_get(messages.STATE, state)
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


@web.middleware
async def _refuse(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse queries that have no answer, and those that are meant for other tables, with the reason."""
    try:
        if request.query.get(messages.TABLES) != str(steps.VERSION):
            raise IndexNotReady(OTHER_TABLES)
        return await handler(request)
    except IndexNotReady as error:
        return web.Response(status=error.status, text=error.message)
    except web.HTTPException:
        raise
    except Exception:
        log.exception("query not answered", path=request.path)
        return web.Response(status=IndexNotReady.status, text=UNANSWERED)
