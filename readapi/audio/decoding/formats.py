"""The result of probing an audio file: its type, duration and tags, or an error."""

from dataclasses import dataclass

from schemas.audio import FileType


class NotAudio(Exception):
    """The file cannot be published as audio; the message is a sentence for the user."""


class Interrupted(NotAudio):
    """The file was not read to its end, for an unknown reason; another attempt may succeed."""


@dataclass(frozen=True, slots=True)
class Probed:
    """A file's type, its duration in whole seconds, and its tags."""

    file_type: FileType
    mime_type: str
    duration: int | None
    title: str | None = None
    artist: str | None = None
    album: str | None = None
    cover: bytes | None = None
    cover_type: str | None = None
