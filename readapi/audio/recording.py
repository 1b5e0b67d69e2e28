"""What is known of an audio file once it was read: its kind, its length, what it says of itself."""

from dataclasses import dataclass
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


class NotAudio(Exception):
    """The file is none of those that can be published; the message is a sentence for a person."""


class Interrupted(NotAudio):
    """The file was not read to its end; nobody knows why."""


@dataclass(frozen=True, slots=True)
class Probed:
    """A file's type, its length in whole seconds, and what it says of itself."""

    file_type: FileType
    mime_type: str
    duration: int | None
    title: str | None = None
    artist: str | None = None
    album: str | None = None
    cover: bytes | None = None
    cover_type: str | None = None
