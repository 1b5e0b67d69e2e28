"""What audio goes by: the file that an address of this service, or any other, stands for. Pure."""

import hashlib
import re

_PATH = r"/audio/([0-9a-f]{64})(?:/stream)?"
_HERE = re.compile(_PATH)
_AT_ANY_HOST = re.compile(rf"https?://[^?#]+{_PATH}")


def address(base_url: str, file_id: str) -> str:
    """Where this service lets a file be heard, by those who may."""
    return f"{base_url}/audio/{file_id}/stream"


def managed_file(url: str, base_url: str) -> str | None:
    """The SHA-256 of the file that an address of this service names; None for every other address."""
    named = _HERE.fullmatch(url.removeprefix(base_url)) if url.startswith(base_url) else None
    return None if named is None else named[1]


def named_file(url: str) -> str | None:
    """The SHA-256 of the file that an address names at this service, or at any host that it was at before."""
    named = _AT_ANY_HOST.fullmatch(url)
    return None if named is None else named[1]


def file_of(url: str, base_url: str) -> str:
    """The `file_id` of audio at an address: the file's own hash where we have it, else the address's."""
    return managed_file(url, base_url) or hashlib.sha256(url.encode()).hexdigest()


def hidden_file(did: str, cid: str) -> str:
    """The `file_id` of a blob that not everybody may have: another for another recording, and no blob's CID.

    The CID with the DID is an address: any server's `getBlob` gives the bytes out to whoever knows both.
    """
    return hashlib.sha256(f"{did} {cid}".encode()).hexdigest()
