"""Encryption of stored secrets: AES-256-GCM, several keys, each text bound to its row."""

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import TypeAdapter, ValidationError

from schemas.setting_types import SECRET_KEY_BYTES
from schemas.settings import Settings

Kept = TypeVar("Kept")

KEY_FILE = "secret.key"
_NAME_BYTES = 4
_NONCE_BYTES = 12


class Undecryptable(Exception):
    """Encrypted with a key that we do not have, moved from another row, or damaged."""


class Encryption:
    """Encrypts with the first key and decrypts with any."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = {_name(key): AESGCM(key) for key in keys}
        self._newest = _name(keys[0])
        self._digesting = hmac.digest(keys[0], b"digests", "sha256")

    @property
    def newest_key(self) -> str:
        """Name of the key that encrypts; reveals nothing of the key."""
        return self._newest.hex()

    def seal(self, text: bytes, row: str) -> bytes:
        """Encrypt text for one row: the key's name, a nonce, the ciphertext with its tag."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return self._newest + nonce + self._ciphers[self._newest].encrypt(nonce, text, row.encode())

    def digest(self, text: str) -> bytes:
        """A keyed hash: without the newest key, a guess at the text cannot be confirmed."""
        return hmac.digest(self._digesting, text.encode(), "sha256")

    def open(self, sealed: bytes, row: str) -> bytes:
        """Decrypt text that was encrypted for this row. Raises Unreadable."""
        cipher = self._ciphers.get(sealed[:_NAME_BYTES])
        if cipher is None:
            raise Undecryptable(f"{row} was encrypted with a key that FMSVC_SECRET_KEYS does not have.")
        nonce, text = sealed[_NAME_BYTES : _NAME_BYTES + _NONCE_BYTES], sealed[_NAME_BYTES + _NONCE_BYTES :]
        try:
            return cipher.decrypt(nonce, text, row.encode())
        except (InvalidTag, ValueError):
            raise Undecryptable(f"{row} does not hold what was sealed for it.") from None


def read_unsealed(kind: TypeAdapter[Kept], text: bytes) -> Kept:
    """Decode decrypted JSON into its type. Raises Unreadable, which quotes nothing of it."""
    try:
        return kind.validate_json(text)
    except ValidationError:
        raise Undecryptable("What was sealed is not written as this version reads it.") from None


def open_vault(settings: Settings) -> Encryption:
    """The configured keys, newest first, then the data folder's own; one is made when there is none."""
    if not settings.secret_keys:
        _make_key(settings.data_dir / KEY_FILE)
    return Encryption(_keys(settings))


def key_names(settings: Settings) -> tuple[str, ...]:
    """Names of the existing keys, newest first; makes none. Raises Unreadable."""
    return tuple(_name(key).hex() for key in _keys(settings))


def _keys(settings: Settings) -> list[bytes]:
    keys = [base64.b64decode(key, altchars=b"-_") for key in settings.secret_keys]
    path = settings.data_dir / KEY_FILE
    return [*keys, _read_key(path)] if path.exists() else keys


def _make_key(path: Path) -> None:
    """Write a new key, readable by the owner only, unless one exists; of several processes one succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(base64.b64encode(secrets.token_bytes(SECRET_KEY_BYTES)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _read_key(path: Path) -> bytes:
    try:
        key = base64.b64decode(path.read_bytes().strip(), validate=True)
    except binascii.Error:
        key = b""
    if len(key) != SECRET_KEY_BYTES:
        raise Undecryptable(f"{path} does not hold a key of {SECRET_KEY_BYTES} bytes in base64.")
    return key


def _name(key: bytes) -> bytes:
    return hashlib.sha256(b"fmsvc key name" + key).digest()[:_NAME_BYTES]
