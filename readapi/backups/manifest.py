"""The manifest of a backup: versions, sizes, and the position in the stream."""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

FORMAT: Final = 1


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StreamPosition(_Part):
    """The cursor in a source of events."""

    seq: int
    event_time: str | None


class Catalogue(_Part):
    """The catalogue. `tables`: the version of its schema; `cursors`: the position in each source."""

    tables: int
    bytes: int
    cursors: dict[str, StreamPosition]


class StateDatabase(_Part):
    """The state database. `revision`: the version of its schema."""

    kind: Literal["sqlite", "postgresql"]
    revision: str
    bytes: int


class AudioPart(_Part):
    """The audio store. `missing`: files that the state database refers to and the store lacked."""

    kind: Literal["folder", "s3"]
    address: str | None  # of a bucket, whose files are listed and not copied
    store_id: str | None
    files: int
    bytes: int
    missing: int


class Manifest(_Part):
    """The manifest. `keys`: ids of the keys that encrypt secrets; an id reveals nothing of its key."""

    format: Literal[1]
    fmsvc: str
    made_at: str
    catalogue: Catalogue | None
    state: StateDatabase | None
    audio: AudioPart
    keys: tuple[str, ...]
