"""Tells the indexer what was written, and waits until this worker can show it."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import aiohttp
import orjson
import structlog

from readapi.errors import NotFound
from readapi.search import Index
from schemas.ids import AtUri

log = structlog.get_logger()

PATIENCE_SECONDS = 2.0
_TIMEOUT = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)


class Nudges:
    """A nudge carries no data: the indexer fetches the record and its proof from the author's server."""

    def __init__(self, data_dir: Path, index: Index) -> None:
        self._socket = data_dir / "control.sock"
        self._index = index

    async def shown(self, uris: Iterable[AtUri]) -> bool:
        """Wait until these records are shown as they are now; False: not within PATIENCE_SECONDS.

        Then the indexer learns of them from the stream.
        """
        try:
            async with (
                asyncio.timeout(PATIENCE_SECONDS),
                aiohttp.ClientSession(
                    connector=aiohttp.UnixConnector(str(self._socket)),
                    timeout=_TIMEOUT,
                    raise_for_status=True,
                ) as session,
            ):
                op = max(await asyncio.gather(*(_nudge(session, uri) for uri in uris)), default=0)
                await self._index.reached(op)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, LookupError) as error:
            log.info("written, but not shown yet", reason=str(error)[:200] or type(error).__name__)
            return False
        return True


async def _nudge(session: aiohttp.ClientSession, uri: AtUri) -> int:
    """The outbox entry with which the record can be found; 0 when there never was such a record."""
    asked = orjson.dumps({"did": uri.did, "uri": str(uri)})
    async with session.post("http://indexer/nudge", data=asked) as response:
        if response.status == NotFound.status:
            return 0
        response.raise_for_status()
        return int(orjson.loads(await response.read())["op"])
