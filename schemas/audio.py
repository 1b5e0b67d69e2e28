"""File ids of audio: which file an address of this service, or any other, refers to. Pure."""

import hashlib
import re
from typing import Literal

FileType = Literal["mp3", "m4a", "aac", "wav", "aiff", "flac", "ogg", "opus", "webm"]


MIME_TYPES: dict[FileType, str] = {
    "mp3": "audio/mpeg",
    "m4a": "audio/mp4",
    "aac": "audio/aac",
    "wav": "audio/wav",
    "aiff": "audio/aiff",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "opus": "audio/ogg",
    "webm": "audio/webm",
}


RENDITION_TYPE: FileType = "m4a"  # every browser plays it, Safari included
BARS = 200  # of a waveform


_PATH = r"/audio/([0-9a-f]{64})(?:/stream)?"
_HERE = re.compile(_PATH)
_AT_ANY_HOST = re.compile(rf"https?://[^?#]+{_PATH}")


def audio_address(base_url: str, file_id: str) -> str:
    """The address at which this service streams a file to authorized viewers."""
    return f"{base_url}/audio/{file_id}/stream"


def managed_file(url: str, base_url: str) -> str | None:
    """The SHA-256 in an address of this service; None for every other address."""
    named = _HERE.fullmatch(url.removeprefix(base_url)) if url.startswith(base_url) else None
    return None if named is None else named[1]


def named_file(url: str) -> str | None:
    """The SHA-256 in an address of this service under its current or any earlier host."""
    named = _AT_ANY_HOST.fullmatch(url)
    return None if named is None else named[1]


def file_of(url: str, base_url: str) -> str:
    """The `file_id` of audio at an address: the file's own hash if we store it, else the address's hash."""
    return managed_file(url, base_url) or hashlib.sha256(url.encode()).hexdigest()


def hidden_file(did: str, cid: str) -> str:
    """The `file_id` of a blob that is not public: unique per recording, and not the blob's CID.

    CID and DID together are an address: `getBlob` serves the bytes to any client that knows both.
    """
    return hashlib.sha256(f"{did} {cid}".encode()).hexdigest()
