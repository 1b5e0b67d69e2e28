"""Proofs of records, fetched and checked by the indexer from the servers that hold them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp
import orjson

from readapi.errors import NotFound, PdsDown
from schemas.ids import AtUri, Tid

_TIMEOUT = aiohttp.ClientTimeout(total=15.0)
_NO_RECORD = 204


class Signed(NamedTuple):
    """A record as DAG-CBOR in a commit that the account signed. `record`: None when the repo has none."""

    rev: Tid
    record: bytes | None


class Proofs:
    """Asks over the indexer's control socket, so that only one process speaks with strangers' servers."""

    def __init__(self, data_dir: Path) -> None:
        self._socket = data_dir / "control.sock"

    async def fetch(self, uri: str) -> bytes:
        """The CAR that proves a record. Raises NotFound or PdsDown."""
        async with self._asked("proof", AtUri.parse(uri)) as response:
            if response.status == NotFound.status:
                raise NotFound("The artist's own server has no such record any more.")
            if response.status != 200:
                raise PdsDown
            return await response.read()

    async def record(self, uri: AtUri) -> Signed:
        """What the account has signed of a record; nobody's word counts without. Raises PdsDown."""
        async with self._asked("record", uri) as response:
            if response.status not in (200, _NO_RECORD):
                raise PdsDown
            rev = Tid(response.headers["Atproto-Repo-Rev"])
            return Signed(rev, None if response.status == _NO_RECORD else await response.read())

    @asynccontextmanager
    async def _asked(self, what: str, uri: AtUri) -> AsyncIterator[aiohttp.ClientResponse]:
        asked = orjson.dumps({"did": uri.did, "uri": str(uri)})
        connector = aiohttp.UnixConnector(str(self._socket))
        try:
            async with (
                aiohttp.ClientSession(connector=connector, timeout=_TIMEOUT) as session,
                session.post(f"http://indexer/{what}", data=asked) as response,
            ):
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise PdsDown from error
