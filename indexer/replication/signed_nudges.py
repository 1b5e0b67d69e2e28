"""Nudges between machines: requests and answers signed with FMSVC_CLUSTER_KEY. Pure.

A nudge carries no data, and only what the record's own server proves is stored; the signature is there so
that strangers cannot make an indexer ask servers, and so that an answer is the indexer's. Nothing in it is
secret.
"""

import hashlib
import hmac
from typing import Final

from schemas import control_socket

PATH: Final = control_socket.NUDGE
TIME_HEADER: Final = "Fmsvc-Time"  # of a request, Unix seconds
SIGNATURE_HEADER: Final = "Fmsvc-Signature"
MOST_SKEW_SECONDS: Final = 60
MOST_BYTES: Final = 16 << 10  # of a request, or an answer


def sign(key: str, *parts: bytes) -> str:
    """The signature of these parts in this order."""
    framed = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.new(key.encode(), framed, hashlib.sha256).hexdigest()


def sign_request(key: str, time: int, body: bytes) -> str:
    """The signature of a request."""
    return sign(key, b"request", str(time).encode(), body)


def sign_answer(key: str, request_signature: str, status: int, body: bytes) -> str:
    """The signature of the answer to one request."""
    return sign(key, b"answer", request_signature.encode(), str(status).encode(), body)


def is_signed(key: str, time: str, signature: str, body: bytes, now: float) -> bool:
    """Whether a request is signed with the key, and was a moment ago."""
    if not (time.isascii() and time.isdigit() and len(time) < 12):
        return False
    expected = sign_request(key, int(time), body)
    return hmac.compare_digest(expected, signature) and abs(now - int(time)) <= MOST_SKEW_SECONDS
