"""One websocket that is read: pauses while too much waits, joins fragments, notices a server that is gone."""

import asyncio
from typing import Final, cast

from picows import WSCloseCode, WSFrame, WSListener, WSMsgType, WSProtocolError, WSTransport

from indexer.stream.prefilter import Prefilter
from indexer.stream.websocket.inbox import MESSAGE_BYTES, Bunch, Inbox

ABNORMAL_CLOSURE: Final = 1006
MESSAGE_TOO_BIG: Final = 1009
CLOSE_SECONDS: Final = 1.0
MAX_WAITING: Final = 100_000  # messages; one read of the socket can bring millions that are empty

_BINARY: Final = WSMsgType.BINARY
_DATA: Final = (_BINARY, WSMsgType.TEXT, WSMsgType.CONTINUATION)


class Connection(WSListener):
    """The messages of one connection. While the consumer is busy, the socket is read until an inbox is full.

    A message above `max_bytes` ends the connection, and so do too many small ones at once, and a server that
    says nothing for `heartbeat_seconds` and does not answer a ping within half of them: it is gone.
    """

    def __init__(self, prefilter: Prefilter | None, *, max_bytes: int, heartbeat_seconds: float) -> None:
        self.is_silent = False  # the server did not answer a ping
        self.error: Exception | None = None  # of ours, or a violation of the protocol; known after `close`
        self._news = asyncio.Event()
        self._inbox = Inbox(prefilter, came=self._news.set, full=self._pause)
        self._add = self._inbox.add
        self._max_bytes = max_bytes
        self._fragments: list[bytes] = []
        self._fragment_bytes = 0
        self._is_paused = self._has_ended = False
        self._was_heard, self._is_pinged = True, False
        self._beat_seconds = heartbeat_seconds / 2

    async def take(self) -> Bunch | None:
        """Wait for a message, and return it with all others that are here; None when there will be none.

        The consumer has processed the bunch before.
        """
        while not self._inbox.messages:
            if self._has_ended:
                return None
            self._news.clear()
            await self._news.wait()
        self._was_heard = True
        bunch = self._inbox.take()
        if self._is_paused:
            self._is_paused = False
            self._transport.underlying_transport.resume_reading()
        return bunch

    async def close(self) -> None:
        """End the connection, within a second, if it is still open."""
        if not self._transport.is_close_frame_sent:
            self._transport.send_close(WSCloseCode.OK)
        self._transport.underlying_transport.resume_reading()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._transport.wait_disconnected()
        except TimeoutError:
            pass
        except Exception as error:  # noqa: BLE001 - `Stream` raises it if it is fatal
            self.error = error
        finally:
            self._transport.disconnect(graceful=False)

    @property
    def close_code(self) -> int:
        """The server's (RFC 6455, section 7.4); ours, if it violated the protocol; 1006 if there is none."""
        if isinstance(self.error, WSProtocolError):
            return int(self.error.code)
        handshake = self._transport.close_handshake
        if handshake is None or handshake.recv is None:
            return ABNORMAL_CLOSURE
        return int(cast("int", handshake.recv.code))

    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport
        self._next_beat = asyncio.get_running_loop().call_later(self._beat_seconds, self._beat)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if transport.is_close_frame_sent and frame.msg_type is not WSMsgType.CLOSE:
            return  # behind a violation of the protocol, for which the connection is being closed
        kind = frame.msg_type
        if kind is _BINARY and frame.fin:
            self._add(frame.get_payload_as_bytes())
        elif kind in _DATA:
            self._join(frame)
        elif kind is WSMsgType.CLOSE:
            transport.send_close(frame.get_close_code())
            transport.disconnect()
        else:
            self._was_heard = True

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self._next_beat.cancel()
        self._has_ended = True
        self._is_paused = False
        self._news.set()

    def _pause(self, waiting: int) -> None:
        if waiting > MAX_WAITING:
            raise WSProtocolError(WSCloseCode.POLICY_VIOLATION, f"more than {MAX_WAITING} messages at once")
        if not self._is_paused:
            self._is_paused = True
            self._transport.underlying_transport.pause_reading()

    def _join(self, frame: WSFrame) -> None:
        """Add a fragment, and the whole message once it is there (RFC 6455, section 5.4)."""
        self._was_heard = True
        self._fragments.append(frame.get_payload_as_bytes())
        self._fragment_bytes += frame.payload_size + MESSAGE_BYTES
        if self._fragment_bytes > self._max_bytes:
            raise WSProtocolError(WSCloseCode.MESSAGE_TOO_BIG, f"a message above {self._max_bytes} bytes")
        if frame.fin:
            message = b"".join(self._fragments)
            self._fragments, self._fragment_bytes = [], 0
            self._add(message)

    def _beat(self) -> None:
        """Ping a server that was silent since the last beat; if it was pinged then, end the connection."""
        is_silent = not (self._was_heard or self._inbox.messages or self._is_paused)
        if is_silent and self._is_pinged:
            self.is_silent = True
            self._transport.disconnect(graceful=False)
            return
        if is_silent:
            self._transport.send_ping()
        self._is_pinged, self._was_heard = is_silent, False
        self._next_beat = asyncio.get_running_loop().call_later(self._beat_seconds, self._beat)
