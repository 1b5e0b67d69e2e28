"""One websocket that is read: pauses while too much waits, joins fragments, notices a server that is gone."""

import asyncio
from collections.abc import Callable
from typing import Final, cast

from picows import WSCloseCode, WSFrame, WSListener, WSMsgType, WSProtocolError, WSTransport

from indexer.stream.prefilter import Prefilter
from indexer.stream.websocket.inbox import MESSAGE_BYTES, Bunch, Inbox

NO_STATUS: Final = 1005  # the close codes of RFC 6455, section 7.4.1
ABNORMAL_CLOSURE: Final = 1006
MESSAGE_TOO_BIG: Final = 1009
MAX_CONTROL_BYTES: Final = 125  # of a ping, a pong or a close (RFC 6455, section 5.5)
CLOSE_SECONDS: Final = 1.0
MAX_WAITING: Final = 100_000  # messages; one read of the socket can bring millions that are empty

_DATA: Final = (WSMsgType.BINARY, WSMsgType.TEXT, WSMsgType.CONTINUATION)


class Connection(WSListener):
    """The messages of one connection. While the consumer is busy, the socket is read until an inbox is full.

    A message above `max_bytes` ends the connection; so do too many small ones at once, pings whose answers
    are not read, and a server that sends nothing for `heartbeat_seconds` and does not answer a ping within
    half of them: it is gone.
    """

    def __init__(self, prefilter: Prefilter | None, *, max_bytes: int, heartbeat_seconds: float) -> None:
        self.is_silent = False  # the server did not answer a ping
        self.error: Exception | None = None  # of ours, or a violation of the protocol; known after `close`
        self._transport: WSTransport | None = None
        self._news = asyncio.Event()
        self._inbox = Inbox(prefilter, came=self._news.set, full=self._pause)
        self._add: Callable[[bytes], None] = self._inbox.add
        self._max_bytes = max_bytes
        self._fragments: list[bytes] = []
        self._fragment_bytes = 0
        self._is_paused = self._has_ended = False
        self._was_heard, self._is_pinged = True, False
        self._beat_seconds = heartbeat_seconds / 2
        self._next_beat: asyncio.TimerHandle | None = None

    async def take(self) -> Bunch | None:
        """Wait for a message, and return it with all others that are here; None when there will be none.

        The consumer has processed the bunch before.
        """
        while (bunch := self._inbox.take()) is None:
            if self._has_ended:
                return None
            self._news.clear()
            await self._news.wait()
        if self._is_paused:
            self._is_paused = False
            self._open.underlying_transport.resume_reading()
        return bunch

    async def close(self) -> None:
        """End the connection, within a second, if it is still open."""
        transport = self._open
        if not transport.is_close_frame_sent:
            transport.send_close(WSCloseCode.OK)
        self._end()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await transport.wait_disconnected()
        except TimeoutError:
            pass
        except Exception as error:  # noqa: BLE001 - `Stream` raises it if it is fatal
            self.error = self.error or error
        finally:
            self.abort()

    def abort(self) -> None:
        """Drop the connection, if there is one."""
        self._end()
        if self._transport is not None:
            self._transport.disconnect(graceful=False)

    @property
    def close_code(self) -> int:
        """The server's (RFC 6455, section 7.4); ours, if it violated the protocol; 1006 if there is none."""
        if isinstance(self.error, WSProtocolError):
            return int(self.error.code)
        handshake = self._open.close_handshake
        if handshake is None or handshake.recv is None:
            return ABNORMAL_CLOSURE
        return int(cast("int", handshake.recv.code)) or NO_STATUS

    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport
        transport.underlying_transport.set_protocol(
            _Reads(cast("asyncio.BufferedProtocol", transport.underlying_transport.get_protocol()), self)
        )
        self._next_beat = asyncio.get_running_loop().call_later(self._beat_seconds, self._beat)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        # Most are whole messages by their size: to ask for the type takes as long as to copy one.
        if frame.payload_size > MAX_CONTROL_BYTES and frame.fin and not self._fragments:
            self._add(frame.get_payload_as_bytes())
        elif self._has_ended:
            return
        elif frame.msg_type in _DATA:
            self._join(frame)
        elif frame.msg_type is WSMsgType.CLOSE:
            transport.send_close(WSCloseCode.OK)
            self._end()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self._end()

    def pause_writing(self) -> None:
        """More is to be written than the server reads: answers to its pings, for there is nothing else."""
        self._refuse(WSCloseCode.POLICY_VIOLATION, "the answers to pings are not read")

    def resume_writing(self) -> None:
        """Do nothing: the connection has ended."""

    def received(self) -> None:
        """Bytes arrived, and every frame that was complete with them is here.

        Behind a violation of the protocol there is none but the one before it: picows looks one ahead.
        """
        self._was_heard = True
        if self._open.is_close_frame_sent and not self._has_ended:
            self._end()

    @property
    def _open(self) -> WSTransport:
        """The transport of a connection that was made."""
        assert self._transport is not None
        return self._transport

    def _end(self) -> None:
        """Take nothing more in, and close the socket: later, for picows may be reading it now."""
        if self._has_ended:
            return
        self._has_ended = True
        self._add = _ignore
        self._is_paused = False
        self._news.set()
        if self._next_beat is not None:
            self._next_beat.cancel()
        if self._transport is not None:
            self._transport.underlying_transport.resume_reading()
            asyncio.get_running_loop().call_soon(self._transport.disconnect)

    def _refuse(self, code: WSCloseCode, reason: str) -> None:
        """End the connection for what the server does."""
        self.error = WSProtocolError(code, reason)
        self._open.send_close(code)
        self._end()

    def _pause(self, waiting: int) -> None:
        if waiting > MAX_WAITING:
            self._refuse(WSCloseCode.POLICY_VIOLATION, f"more than {MAX_WAITING} messages at once")
        elif not self._is_paused:
            self._is_paused = True
            self._open.underlying_transport.pause_reading()

    def _join(self, frame: WSFrame) -> None:
        """Add a fragment, and the whole message once it is there (RFC 6455, section 5.4)."""
        self._fragments.append(frame.get_payload_as_bytes())
        self._fragment_bytes += frame.payload_size + MESSAGE_BYTES
        if self._fragment_bytes > self._max_bytes:
            self._fragments.clear()
            self._refuse(WSCloseCode.MESSAGE_TOO_BIG, f"a message above {self._max_bytes} bytes")
        elif frame.fin:
            message = b"".join(self._fragments)
            self._fragments, self._fragment_bytes = [], 0
            self._add(message)

    def _beat(self) -> None:
        """Ping a server that was silent since the last beat; if it was pinged then, end the connection."""
        is_silent = not (self._was_heard or self._is_paused)
        if is_silent and self._is_pinged:
            self.is_silent = True
            self.abort()
            return
        if is_silent:
            self._open.send_ping()
        self._is_pinged, self._was_heard = is_silent, False
        self._next_beat = asyncio.get_running_loop().call_later(self._beat_seconds, self._beat)


def _ignore(_: bytes) -> None:
    """Drop what follows the end."""


class _Reads(asyncio.BufferedProtocol):
    """picows's protocol, except that the connection is told of each read, which may be a part of a frame."""

    def __init__(self, protocol: asyncio.BufferedProtocol, connection: Connection) -> None:
        self._protocol, self._connection = protocol, connection
        self.get_buffer = protocol.get_buffer  # type: ignore[method-assign]
        self.connection_lost = protocol.connection_lost  # type: ignore[method-assign]
        self.eof_received = protocol.eof_received  # type: ignore[method-assign]
        self.pause_writing = protocol.pause_writing  # type: ignore[method-assign]
        self.resume_writing = protocol.resume_writing  # type: ignore[method-assign]

    def buffer_updated(self, nbytes: int) -> None:
        """Read the bytes."""
        self._protocol.buffer_updated(nbytes)
        self._connection.received()
