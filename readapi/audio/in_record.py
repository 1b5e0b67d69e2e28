"""Reads where a track record's audio is: in a blob, in the private store, or elsewhere. Pure."""

import base64
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from readapi.errors import Conflict
from readapi.state.publishing.managed_audio import Managed
from readapi.state.publishing.uploads import Audio
from schemas.audio import managed_file, named_file
from schemas.ids import Cid, is_cid
from schemas.publishing import OPEN, TemplateAccess

Value = dict[str, Any]  # a record as atproto's JSON writes it
Storage = Literal["pds", "managed", "elsewhere", "none"]

UNREADABLE = "The track's record on your server has invalid audio or access members."
MEMBERS = ("audioBlob", "audioUrl")  # the members of a record that refer to its audio
_DIGEST = slice(4, None)  # of a CIDv1 with SHA-256, after version, codec, hash function and length


class _Blob(BaseModel, strict=True):
    mimeType: str
    size: int


class _AudioMetadata(BaseModel, strict=True):
    fileType: str = ""
    duration: int | None = None


@dataclass(frozen=True, slots=True)
class AudioLocation:
    """Where the audio is. `file_id`: SHA-256 of the audio in hex, if known. `blob`: if it is one."""

    storage: Storage
    file_id: str | None = None
    blob: Value | None = None

    @property
    def cid(self) -> Cid:
        """The blob's CID."""
        assert self.blob is not None
        return Cid(self.blob["ref"]["$link"])


def locate_audio(value: Value, base_url: str, held: Managed | None) -> AudioLocation:
    """Where this record's audio is. A blob takes precedence: it is the artist's own. Raises Conflict.

    `held`: the track's original in the private store. Its URL is recognised with any host: services move.
    """
    blob, url = value.get("audioBlob"), value.get("audioUrl")
    if blob is not None:
        return AudioLocation("pds", digest_in(blob), blob)
    if not isinstance(url, str):
        return AudioLocation("none")
    if held is not None and named_file(url) == held.file_id:
        return AudioLocation("managed", held.file_id)
    file_id = managed_file(url, base_url)
    return AudioLocation("elsewhere") if file_id is None else AudioLocation("managed", file_id)


def access_of(value: Value) -> TemplateAccess:
    """The access settings of a record; a record without any is open. Raises Conflict."""
    snapshot = value.get("access")
    if snapshot is None:
        return OPEN
    try:
        return TemplateAccess.model_validate(
            {name: snapshot.get(name) for name in TemplateAccess.model_fields}
        )
    except (AttributeError, ValidationError) as error:
        raise Conflict(UNREADABLE) from error


def digest_in(blob: object) -> str:
    """The SHA-256 of a blob's bytes, in hex. Raises Conflict for what is no blob."""
    try:
        return digest_of(Cid(blob["ref"]["$link"]))  # type: ignore[index]  # or TypeError
    except (LookupError, TypeError, ValueError) as error:
        raise Conflict(UNREADABLE) from error


def digest_of(cid: Cid) -> str:
    """The SHA-256 in a CID, in hex. Raises ValueError."""
    if not is_cid(cid):
        raise ValueError("not a CIDv1 with SHA-256")
    text = cid[1:].upper()
    return base64.b32decode(text + "=" * (-len(text) % 8))[_DIGEST].hex()


def check_unchanged(value: Value, before: Value) -> None:
    """Raise Conflict unless the record has the same audio and access as before."""
    if audio_members(value) != audio_members(before) or access_of(value) != access_of(before):
        raise Conflict("The track's audio or access has changed meanwhile; try again.")


def audio_members(value: Value) -> list[Any]:
    """The values of the record's audio members, for comparison."""
    return [value.get(name) for name in MEMBERS]


def audio_of(value: Value, carried: AudioLocation) -> Audio:
    """The audio in a record's blob, described by the record. Raises Conflict."""
    assert carried.blob is not None
    assert carried.file_id is not None
    try:
        blob = _Blob.model_validate(carried.blob)
        metadata = _AudioMetadata.model_validate(value)
    except ValidationError as error:
        raise Conflict(UNREADABLE) from error
    return Audio(carried.file_id, blob.size, metadata.fileType, blob.mimeType, metadata.duration)
