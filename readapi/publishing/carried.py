"""Where a track record says that its audio is: in a blob, in our private store, or elsewhere. Pure."""

import base64
from dataclasses import dataclass
from typing import Any, Literal

from readapi.errors import Conflict
from readapi.state.uploads import Audio
from schemas.audio import managed_file
from schemas.ids import Cid, is_cid
from schemas.publishing import OPEN, TemplateAccess

Value = dict[str, Any]  # a record as atproto's JSON writes it
Storage = Literal["pds", "managed", "elsewhere", "none"]

MEMBERS = ("audioBlob", "audioUrl")  # in which a record says where its audio is
_DIGEST = slice(4, None)  # of a CIDv1 with SHA-256, after version, codec, hash function and length


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


def read(value: Value, base_url: str) -> Carried:
    """Where this record's audio is. A blob comes first: it is the artist's own."""
    blob, url = value.get("audioBlob"), value.get("audioUrl")
    if isinstance(blob, dict):
        return Carried("pds", digest_of(Cid(blob["ref"]["$link"])), blob)
    if not isinstance(url, str):
        return Carried("none")
    file_id = managed_file(url, base_url)
    return Carried("elsewhere") if file_id is None else Carried("managed", file_id)


def access_of(value: Value) -> TemplateAccess:
    """The access snapshot of a record; without one everything is open."""
    snapshot = value.get("access")
    return OPEN if snapshot is None else TemplateAccess.model_validate(_known(snapshot))


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


def _known(snapshot: Value) -> Value:
    return {name: snapshot.get(name) for name in TemplateAccess.model_fields}


def audio_of(value: Value, carried: Carried) -> Audio:
    """What a record says of the audio in its blob."""
    assert carried.blob is not None
    assert carried.file_id is not None
    blob, duration = carried.blob, value.get("duration")
    file_type = str(value.get("fileType", ""))
    return Audio(carried.file_id, int(blob["size"]), file_type, str(blob["mimeType"]), duration)
