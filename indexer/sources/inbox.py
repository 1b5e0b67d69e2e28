"""What a websocket brings, taken out together as it came together."""

import asyncio
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Literal, NamedTuple, Self

from aiohttp import ClientWebSocketResponse, WSMsgType

from indexer import faults
from indexer.glance import Glance

Socket = ClientWebSocketResponse[Literal[False]]

_DATA = (WSMsgType.BINARY, WSMsgType.TEXT)


class Bunch(NamedTuple):
    """Messages that came together. `passed` more were let go; `size` is the bytes of all."""

    messages: list[bytes]
    passed: int
    size: int


class Inbox:
    """Reads a websocket while its messages are waited for; while they are worked on, the network waits.

    A message that passes at a glance is let go when another one comes with it: the last one is always there.
    """

    def __init__(self, socket: Socket, glance: Glance | None) -> None:
        self._socket = socket
        self._glance = glance
        self._wanted, self._came = asyncio.Event(), asyncio.Event()
        self._messages: list[bytes] = []
        self._passed = self._size = 0

    async def __aenter__(self) -> Self:
        self._filling = asyncio.create_task(self._fill())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._filling.cancel()
        await asyncio.gather(self._filling, return_exceptions=True)

    async def bunches(self) -> AsyncGenerator[Bunch, None]:
        """Until the connection ends. Raises aiohttp.ClientError."""
        while not self._filling.done():
            self._messages, self._passed, self._size = [], 0, 0
            self._came.clear()
            self._wanted.set()
            await self._came.wait()
            self._wanted.clear()
            if self._messages:
                yield Bunch(self._messages, self._passed, self._size)
        self._filling.result()

    async def _fill(self) -> None:
        try:
            await self._fill_bunches()
        finally:
            self._came.set()

    async def _fill_bunches(self) -> None:
        receive, glance, may_go = self._socket.receive, self._glance, False
        while (message := await receive()).type in _DATA:
            if not self._wanted.is_set():
                await self._wanted.wait()
            raw: bytes = message.data
            self._size += len(raw)
            if not self._messages:
                self._messages.append(raw)
                self._came.set()
                if glance is not None:
                    glance.begin()
            elif may_go:
                self._messages[-1] = raw
                self._passed += 1
            else:
                self._messages.append(raw)
            try:
                may_go = glance is not None and glance.passes(raw)
            except BaseException as error:
                if faults.is_fatal(error):
                    raise
                faults.reason("glance", error)  # the frame goes to the decoder, which keeps it
                may_go = False
