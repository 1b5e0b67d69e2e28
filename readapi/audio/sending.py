"""Sends audio and other large files: the whole file or the requested range, at the client's speed."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import aclosing
from http import HTTPStatus

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from readapi.audio.source import AudioSource, FileSource, OpenFile
from readapi.http.request.headers import ByteRange, Conditions

CHUNK_BYTES = 256 << 10
STALLED_SECONDS = 60.0  # after which a client that receives nothing is disconnected


class Sending(web.StreamResponse):
    """A response with a file, or a range of it."""

    def __init__(
        self, source: AudioSource | FileSource, conditions: Conditions, headers: Mapping[str, str]
    ) -> None:
        """Raises RangeNotSatisfiable."""
        sent = {**headers, "ETag": source.etag, "Accept-Ranges": "bytes"}
        if conditions.knows(source.etag):
            super().__init__(status=HTTPStatus.NOT_MODIFIED, headers=sent)
            self._part = ByteRange(0, 0)
            return
        part = conditions.part(source.size, source.etag)
        whole = ByteRange(0, source.size)
        sent["Content-Type"] = source.media_type
        if part is not None:
            sent["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{source.size}"
        status = HTTPStatus.OK if part is None else HTTPStatus.PARTIAL_CONTENT
        super().__init__(status=status, headers=sent)
        self._part = part or whole
        self.content_length = self._part.stop - self._part.start
        self._source = source

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send all of it. Ends early, with the connection, when the client disconnects."""
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client has disconnected")
        if request.method == "HEAD" or self._part.start == self._part.stop:
            return await super().prepare(request)
        if isinstance(self._source, FileSource):
            return await self._send(request, transport, self._source.file)
        with self._source.sent_on(transport):
            if self._source.file is not None:
                return await self._send(request, transport, self._source.file)
            writer = await super().prepare(request)
            await self._write(self._source)
            return writer

    async def _send(
        self, request: web.BaseRequest, transport: asyncio.Transport, file: OpenFile
    ) -> AbstractStreamWriter:
        # The file bypasses the transport, so the headers must have left its buffer before.
        transport.set_write_buffer_limits(high=0)
        writer = await super().prepare(request)
        assert writer is not None
        await writer.drain()
        transport.set_write_buffer_limits()
        await send_file(transport.get_extra_info("socket").fileno(), file, self._part)
        await self.write_eof()
        return writer

    async def _write(self, source: AudioSource) -> None:
        async with aclosing(source.read(*self._part)) as pieces:
            async for piece in pieces:
                async with asyncio.timeout(STALLED_SECONDS):
                    await self.write(piece)


async def send_file(socket: int, file: OpenFile, part: ByteRange) -> None:
    """Let the kernel copy a file to a socket. Raises ConnectionError.

    uvloop has no sendfile, and no event loop watches a socket that belongs to a transport: so a duplicate of
    its descriptor is watched.
    """
    ours = os.dup(socket)
    try:
        start, stop = part
        while start < stop:
            try:
                sent = os.sendfile(ours, file.number, start, min(stop - start, CHUNK_BYTES))
            except BlockingIOError:
                await _writable(ours)
                continue
            if not sent:
                raise ConnectionAbortedError("the file is shorter than it was")
            start += sent
            await asyncio.sleep(0)  # let other tasks run, however fast this client is
    finally:
        os.close(ours)


async def _writable(socket: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_writer(socket, ready.set)
    try:
        async with asyncio.timeout(STALLED_SECONDS):
            await ready.wait()
    except TimeoutError:
        raise ConnectionAbortedError("the client receives nothing") from None
    finally:
        loop.remove_writer(socket)
