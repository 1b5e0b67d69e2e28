"""An indexer running in the test's own process, around a relay and a directory on loopback."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson

from indexer import service
from indexer.network.websockets import WebSocketClient
from indexer.service import Indexer
from indexer.stream.firehose import Firehose
from schemas import data_folder
from schemas.backoff import Backoff
from schemas.settings import Settings
from tests.indexer import empty_catalogues
from tests.network.relay import Relay
from tests.patience import PATIENCE_SECONDS

QUICK = Backoff(first_seconds=0.01, longest_seconds=0.04)

Row = tuple[Any, ...]


async def until(condition: Callable[[], object]) -> None:
    """Wait for something that becomes true while the loop runs."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if condition():
                return
            await asyncio.sleep(0.005)


class Running:
    """The indexer, what it has stored, and its control socket."""

    def __init__(
        self, indexer: Indexer, source: Firehose, settings: Settings, control: aiohttp.ClientSession
    ) -> None:
        self.indexer = indexer
        self.source = source
        self.settings = settings
        self._control = control

    async def reach(self, seq: int, *, in_step: bool = True) -> None:
        """Wait until everything up to `seq` is committed and can be found, and every repo is in step."""
        await until(lambda: (self.indexer.pipeline.finished or 0) >= seq)
        await until(lambda: not in_step or self._is_in_step())
        await until(self._is_followed)

    def rows(self, query: str) -> list[Row]:
        """What a query finds in the live catalogue."""
        return self.indexer.stores.writer.reader().execute(query).fetchall()

    async def ask(self, path: str) -> Any:
        """GET from the control socket."""
        async with self._control.get(f"http://indexer{path}") as response:
            body = await response.read()
            return orjson.loads(body) if response.content_type == "application/json" else body.decode()

    async def nudge(self, body: object) -> tuple[int, dict[str, Any]]:
        """POST /nudge."""
        sent = body if isinstance(body, bytes) else orjson.dumps(body)
        async with self._control.post("http://indexer/nudge", data=sent) as response:
            return response.status, await response.json()

    def _is_in_step(self) -> bool:
        by_state = self.indexer.repos.by_state
        return by_state.total() == by_state["active"]

    def _is_followed(self) -> bool:
        return self.indexer.follower.watermark >= self.indexer.stores.writer.op


@asynccontextmanager
async def running(
    settings: Settings, give_back_seconds: float = service.GIVE_BACK_SECONDS
) -> AsyncIterator[Running]:
    """Start, and stop as SIGTERM does."""
    empty_catalogues.begin(settings.data_dir)
    socket = aiohttp.UnixConnector(str(settings.data_dir / data_folder.CONTROL_SOCKET))
    async with aiohttp.ClientSession(connector=socket) as control:
        source = Firehose(settings.relay, WebSocketClient(), start=settings.start, backoff=QUICK)
        async with service.open_indexer(settings, source) as indexer:
            stop = asyncio.Event()
            task = asyncio.create_task(indexer.run(stop, give_back_seconds))
            try:
                await _answering(control)
                yield Running(indexer, source, settings, control)
            finally:
                stop.set()
                await task


@asynccontextmanager
async def following(configured: Settings, relay: Relay, **changes: object) -> AsyncIterator[Running]:
    """Start the indexer on this relay, with the other settings changed as given."""
    async with running(configured.model_copy(update={"relay": relay.url, **changes})) as indexer:
        yield indexer


async def _answering(control: aiohttp.ClientSession) -> None:
    """Wait until the control socket is there."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with contextlib.suppress(aiohttp.ClientConnectorError):
                async with control.get("http://indexer/health"):
                    return
            await asyncio.sleep(0.005)
