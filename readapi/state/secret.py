"""Secrets that we hand out: made here, and kept only as hashes."""

import hashlib
import secrets

DEVELOPER_TOKEN = "fmsvc_"  # noqa: S105  # how one begins, so that people and scanners know it
_BYTES = 32


def new_secret(prefix: str = "") -> str:
    """256 random bits as text that is safe in addresses and headers."""
    return prefix + secrets.token_urlsafe(_BYTES)


def key_of(secret: str) -> bytes:
    """What is stored of a secret. Plain SHA-256 will do: 256 random bits cannot be guessed."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()
