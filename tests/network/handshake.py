"""The server's half of a websocket's opening handshake (RFC 6455, section 4.2.2), as raw bytes."""

import base64
import hashlib

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def handshake_to(request: bytes) -> bytes:
    """The head that accepts a request's head."""
    lines = request.split(b"\r\n")
    key = next(line for line in lines if line.lower().startswith(b"sec-websocket-key:")).partition(b":")[2]
    accept = base64.b64encode(hashlib.sha1(key.strip() + _GUID).digest())
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
    )
