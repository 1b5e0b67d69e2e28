"""Where a track record says that its audio is: in a blob, in our private store, or elsewhere. Pure."""

import base64
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from readapi.errors import Conflict
from readapi.state.managed import Managed
from readapi.state.uploads import Audio
from schemas.audio import managed_file, named_file
from schemas.ids import Cid, is_cid
from schemas.publishing import OPEN, TemplateAccess

Value = dict[str, Any]  # a record as atproto's JSON writes it
Storage = Literal["pds", "managed", "elsewhere", "none"]

UNREADABLE = "Your server's record of this track does not say what it should where its audio is."
MEMBERS = ("audioBlob", "audioUrl")  # in which a record says where its audio is
_DIGEST = slice(4, None)  # of a CIDv1 with SHA-256, after version, codec, hash function and length


class _Blob(BaseModel, strict=True):
    mimeType: str
    size: int


class _Told(BaseModel, strict=True):
    fileType: str = ""
    duration: int | None = None


@dataclass(frozen=True, slots=True)
class Carried:
    """`file_id`: SHA-256 of the audio in hex, where it is known. `blob`: where it is one."""

    storage: Storage
    file_id: str | None = None
    blob: Value | None = None

    @property
    def cid(self) -> Cid:
        """Of the blob."""
        assert self.blob is not None
        return Cid(self.blob["ref"]["$link"])


def read(value: Value, base_url: str, held: Managed | None) -> Carried:
    """Where this record's audio is. A blob comes first: it is the artist's own. Raises Conflict.

    `held`: what we keep for the track. Its address is ours whatever the host: services move.
    """
    blob, url = value.get("audioBlob"), value.get("audioUrl")
    if blob is not None:
        return Carried("pds", digest_in(blob), blob)
    if not isinstance(url, str):
        return Carried("none")
    if held is not None and named_file(url) == held.file_id:
        return Carried("managed", held.file_id)
    file_id = managed_file(url, base_url)
    return Carried("elsewhere") if file_id is None else Carried("managed", file_id)


def access_of(value: Value) -> TemplateAccess:
    """The access snapshot of a record; without one everything is open. Raises Conflict."""
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
    """Raises Conflict unless the record has the audio and the access that it had before."""
    if sound(value) != sound(before) or access_of(value) != access_of(before):
        raise Conflict("The track's audio or its access was changed meanwhile; try again.")


def sound(value: Value) -> list[Any]:
    """What a record says of where its audio is."""
    return [value.get(name) for name in MEMBERS]


def audio_of(value: Value, carried: Carried) -> Audio:
    """What a record says of the audio in its blob. Raises Conflict."""
    assert carried.blob is not None
    assert carried.file_id is not None
    try:
        blob = _Blob.model_validate(carried.blob)
        told = _Told.model_validate(value)
    except ValidationError as error:
        raise Conflict(UNREADABLE) from error
    return Audio(carried.file_id, blob.size, told.fileType, blob.mimeType, told.duration)
