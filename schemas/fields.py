"""The field types that records are made of. Limits mean what lexicons mean by them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, TypeVar

import libipld
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainValidator,
    ValidationInfo,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, core_schema

from schemas import graphemes
from schemas.bounds import MAX_AUDIO_BYTES, MAX_IMAGE_BYTES
from schemas.datetimes import parse_datetime
from schemas.ids import Cid, Did, is_at_uri, is_cid, is_cid_text, is_did

T = TypeVar("T")
_URI = re.compile(r"[a-zA-Z][a-zA-Z0-9.+-]{0,80}:[^\s\x00-\x1f\x7f]+")
_LINK_TAG = b"\xd8\x2a\x58\x25\x00"  # how DAG-CBOR introduces a link of 36 bytes
_CODECS = (b"\x01\x55\x12\x20", b"\x01\x71\x12\x20")  # CIDv1 with SHA-256, of raw bytes or of DAG-CBOR


class Shape(BaseModel):
    """Part of a record: nothing is coerced, fields of later versions are ignored, names are camelCase."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="ignore", alias_generator=to_camel, serialize_by_alias=True
    )


class _NotNull:
    """Lets an optional field be absent but not null: lexicons distinguish the two."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        return schema["schema"] if schema["type"] == "nullable" else schema


Maybe = Annotated[T | None, _NotNull()]


@dataclass(frozen=True, slots=True)
class Text:
    """Limits of a string: graphemes, which people count as letters, and bytes of UTF-8."""

    max_bytes: int
    max_graphemes: int | None = None
    min_bytes: Literal[0, 1] = 0

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def check(self, text: str) -> str:
        """Return the text, or raise ValueError with the limit that it breaks."""
        size = len(text)
        if size < self.min_bytes:
            raise ValueError("must not be empty")
        # A character takes 1 to 4 bytes and a grapheme at least 1 character: most texts need no counting.
        if size * 4 > self.max_bytes and len(text.encode()) > self.max_bytes:
            raise ValueError(f"must not exceed {self.max_bytes} bytes")
        most = self.max_graphemes
        if most is not None and size > most and graphemes.count_graphemes(text, most) > most:
            raise ValueError(f"must have {most} letters or fewer")
        return text


@dataclass(frozen=True, slots=True)
class Items:
    """The maximum length of an array. Checked before its items are parsed: a record may hold a million."""

    max_length: int

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.check, handler(source))

    def check(self, value: object) -> tuple[object, ...]:
        """Return a list as a tuple. Raises ValueError if it is not a list or is too long."""
        if not isinstance(value, list):
            raise ValueError("must be an array")
        if len(value) > self.max_length:
            raise ValueError(f"must not hold more than {self.max_length} items")
        return tuple(value)


def is_uri(text: str) -> bool:
    """True for any scheme followed by visible characters, at most 8 KB."""
    return len(text) <= 8192 and _URI.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Format:
    """One of the lexicons' string formats: its name there, and the function that checks it."""

    name: str
    holds: Callable[[str], bool]

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def check(self, text: str) -> str:
        """Return the text, or raise ValueError naming the format."""
        if not self.holds(text):
            raise ValueError(f"must have the format {self.name}")
        return text


def _read_datetime(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return parse_datetime(value)


def _read_link(value: object, info: ValidationInfo) -> Cid:
    """The CID of a link. The decoder hands links and plain bytes over alike; the block tells them apart."""
    if not isinstance(value, bytes) or len(value) != 36 or not value.startswith(_CODECS):
        raise ValueError("must be a link by CID (version 1, SHA-256)")
    if isinstance(info.context, bytes) and _LINK_TAG + value not in info.context:
        raise ValueError("must be a link, not bytes")
    return Cid(libipld.encode_cid(value))


Datetime = Annotated[datetime, PlainValidator(_read_datetime)]
DidString = Annotated[Did, Format("did", is_did)]
CidString = Annotated[Cid, Format("cid", is_cid)]
CidText = Annotated[Cid, Format("cid", is_cid_text)]
AtUriString = Annotated[str, Format("at-uri", is_at_uri)]
Uri = Annotated[str, Text(max_bytes=2048), Format("uri", is_uri)]


class StrongRef(Shape):
    """A reference to one version of another record."""

    uri: AtUriString
    cid: CidText


class Blob(Shape):
    """A file on the author's server."""

    type: Literal["blob"] = Field(alias="$type")
    ref: Annotated[Cid, PlainValidator(_read_link)]
    mime_type: Annotated[str, Text(max_bytes=255)]
    size: Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class Accepts:
    """The blobs that a field accepts: a family of media types and a few `besides`, up to a size."""

    family: str
    max_bytes: int
    besides: tuple[str, ...] = ()

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def check(self, blob: Blob) -> Blob:
        """Return the blob, or raise ValueError with the limit that it breaks."""
        if not self.takes(blob.mime_type):
            raise ValueError(f"must be {self.family}/*")
        if blob.size > self.max_bytes:
            raise ValueError(f"must not exceed {self.max_bytes} bytes")
        return blob

    def takes(self, mime_type: str) -> bool:
        """Whether the field accepts a media type. Its parameters are ignored."""
        bare = mime_type.partition(";")[0].rstrip()
        return bare.startswith(f"{self.family}/") or bare in self.besides


# Servers tell files by their first bytes, and these two containers begin alike with and without pictures.
AUDIO = Accepts("audio", MAX_AUDIO_BYTES, besides=("video/mp4", "video/webm"))
IMAGE = Accepts("image", MAX_IMAGE_BYTES)
AudioBlob = Annotated[Blob, AUDIO]
ImageBlob = Annotated[Blob, IMAGE]
