"""Proofs of records, fetched and checked by the indexer from the servers that hold them."""

from pathlib import Path

import aiohttp
import orjson

from readapi.errors import NotFound, PdsUnavailable
from schemas.ids import AtUri

_TIMEOUT = aiohttp.ClientTimeout(total=15.0)


class Proofs:
    """Asks over the indexer's control socket, so that only one process speaks with strangers' servers."""

    def __init__(self, data_dir: Path) -> None:
        self._socket = data_dir / "control.sock"

    async def fetch(self, uri: str) -> bytes:
        """The CAR that proves a record. Raises NotFound or PdsUnavailable."""
        asked = orjson.dumps({"did": AtUri.parse(uri).did, "uri": uri})
        connector = aiohttp.UnixConnector(str(self._socket))
        try:
            async with (
                aiohttp.ClientSession(connector=connector, timeout=_TIMEOUT) as session,
                session.post("http://indexer/proof", data=asked) as response,
            ):
                if response.status == NotFound.status:
                    raise NotFound("The artist's own server has no such record any more.")
                if response.status != 200:
                    raise PdsUnavailable
                return await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise PdsUnavailable from error
