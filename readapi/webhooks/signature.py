"""Signatures of deliveries, in the form of Standard Webhooks (https://www.standardwebhooks.com). Pure."""

import base64
import hmac
import secrets
from collections.abc import Sequence
from typing import Final

PREFIX: Final = "whsec_"
_BYTES: Final = 32


def new_secret() -> str:
    """A new secret, as both ends keep it."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def signed_headers(signing: Sequence[str], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers of a delivery: id, time of the attempt in Unix seconds, a signature by each secret."""
    text = b"%b.%d.%b" % (message_id.encode(), timestamp, body)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{_sign(secret, text)}" for secret in signing),
    }


def _sign(secret: str, text: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.digest(key, text, "sha256")).decode()
