"""The way of MCP tools back to their worker: HTTP on a Unix socket in the data folder.

Requests on it pass the gate as all others do, and are counted for the client that sent the message to `/mcp`.
Only the service's own user can open the folder, so no other user can name a client there.
"""

from pathlib import Path

import structlog
from aiohttp import web

log = structlog.get_logger()


def socket_of(folder: Path, worker: str) -> Path:
    """The socket of a worker. Each answers its own tools: its limits count them."""
    return folder / f"mcp-{worker}.sock"


async def listen(runner: web.AppRunner, path: Path) -> None:
    """Answer on the socket until the runner ends."""
    try:
        path.unlink(missing_ok=True)
        await web.UnixSite(runner, path).start()
    except OSError as error:
        # The rest of the service needs no tools.
        log.warning("the tools of /mcp are not offered", socket=str(path), error=str(error)[:200])
