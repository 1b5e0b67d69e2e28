"""Bytes of the two protocols: WebSocket frames (RFC 6455) and server-sent events in chunks. Pure."""

from typing import Final

_TEXT, _CLOSE, _PING = 0x81, 0x88, 0x89  # whole messages
_SHORT, _MEDIUM = 126, 1 << 16
PING: Final = bytes((_PING, 0))
TRY_AGAIN_LATER: Final = 1013  # https://www.iana.org/assignments/websocket


def text_frame(text: bytes) -> bytes:
    """A text message, as servers send it: not masked."""
    return _head(_TEXT, len(text)) + text


def close_frame(code: int, reason: str) -> bytes:
    """A closing frame. `reason`: at most 123 bytes."""
    payload = code.to_bytes(2, "big") + reason.encode()
    return _head(_CLOSE, len(payload)) + payload


def chunk(content: bytes) -> bytes:
    """A chunk of a body of unknown length (RFC 9112, section 7.1)."""
    return b"%x\r\n%b\r\n" % (len(content), content)


def _head(kind: int, length: int) -> bytes:
    if length < _SHORT:
        return bytes((kind, length))
    if length < _MEDIUM:
        return bytes((kind, _SHORT)) + length.to_bytes(2, "big")
    return bytes((kind, 127)) + length.to_bytes(8, "big")
