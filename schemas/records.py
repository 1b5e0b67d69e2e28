"""One model per record type, and `parse_record`: untrusted bytes in, a record or its faults out."""

import functools
from dataclasses import dataclass
from typing import Annotated, TypeVar

import libipld
from pydantic import Field, ValidationError

from schemas.access import Downloads, Listening, Visibility
from schemas.bounds import MAX_SECONDS
from schemas.collections import Collections
from schemas.fields import (
    AudioBlob,
    Datetime,
    DidString,
    ImageBlob,
    Items,
    Maybe,
    Shape,
    StrongRef,
    Text,
    Uri,
)
from schemas.ids import Nsid, Rkey, is_tid
from schemas.publishing import PolicyOrigin
from schemas.rights import Rights

MAX_REASONS = 10
MAX_REASON_LENGTH = 200
MAX_TAGS = 10
MAX_ITEMS = 500
MAX_FEATURES = 10

TITLE = Text(min_bytes=1, max_bytes=2560, max_graphemes=256)
Title = Annotated[str, TITLE]
Name = Annotated[str, Text(max_bytes=2560, max_graphemes=256)]
Prose = Annotated[str, Text(max_bytes=50_000, max_graphemes=5000)]
Tag = Annotated[str, Text(min_bytes=1, max_bytes=500, max_graphemes=50)]


Remark = Annotated[str, Text(min_bytes=1, max_bytes=10_000, max_graphemes=1000)]
Moment = Annotated[int, Field(ge=0, le=MAX_SECONDS * 1000)]
DisplayName = Annotated[str, Text(max_bytes=640, max_graphemes=64)]


class Feature(Shape):
    """An artist who takes part in a track."""

    did: DidString


class SelfLabel(Shape):
    """A warning that the author put on the record."""

    val: Annotated[str, Text(max_bytes=128)]


class SelfLabels(Shape):
    """`com.atproto.label.defs#selfLabels`."""

    values: Annotated[tuple[SelfLabel, ...], Items(10)]


class AccessSnapshot(Shape):
    """The access settings of a track. Always complete, so that nothing is guessed."""

    listening: Listening
    downloads: Downloads
    visibility: Visibility


class Track(Shape):
    """A recording."""

    title: Title
    artist: Title
    file_type: Annotated[str, Text(min_bytes=1, max_bytes=16)]
    created_at: Datetime
    audio_blob: Maybe[AudioBlob] = None
    audio_url: Maybe[Uri] = None
    duration: Maybe[Annotated[int, Field(ge=0, le=MAX_SECONDS)]] = None
    album: Maybe[Name] = None
    description: Maybe[Prose] = None
    tags: Maybe[Annotated[tuple[Tag, ...], Items(MAX_TAGS)]] = None
    features: Maybe[Annotated[tuple[Feature, ...], Items(MAX_FEATURES)]] = None
    image: Maybe[ImageBlob] = None
    image_url: Maybe[Uri] = None
    labels: Maybe[SelfLabels] = None
    access: Maybe[AccessSnapshot] = None
    policy_origin: Maybe[PolicyOrigin] = None
    rights: Maybe[Rights] = None
    updated_at: Maybe[Datetime] = None


class Like(Shape):
    """An account's like of a track."""

    subject: StrongRef
    created_at: Datetime


class Comment(Shape):
    """A comment at a position in a track."""

    subject: StrongRef
    text: Remark
    timestamp_ms: Moment
    created_at: Datetime
    updated_at: Maybe[Datetime] = None


class ListItem(Shape):
    """One item of a list."""

    subject: StrongRef


class ListRecord(Shape):
    """An album, a playlist or another ordered list of tracks."""

    items: Annotated[tuple[ListItem, ...], Items(MAX_ITEMS)]
    created_at: Datetime
    name: Maybe[Name] = None
    list_type: Maybe[Annotated[str, Text(max_bytes=64)]] = None
    description: Maybe[Prose] = None
    image: Maybe[ImageBlob] = None
    updated_at: Maybe[Datetime] = None


class Profile(Shape):
    """An artist's public profile."""

    created_at: Datetime
    display_name: Maybe[DisplayName] = None
    bio: Maybe[Prose] = None
    avatar: Maybe[ImageBlob] = None
    support_url: Maybe[Uri] = None
    updated_at: Maybe[Datetime] = None


R = TypeVar("R", bound=Shape)
Record = Track | Like | Comment | ListRecord | Profile


@dataclass(frozen=True, slots=True)
class Invalid:
    """A record that violates its lexicon: a few short sentences, each naming a field."""

    reasons: tuple[str, ...]


@functools.cache
def _models(collections: Collections) -> dict[Nsid, type[Record]]:
    return {
        collections.track: Track,
        collections.like: Like,
        collections.comment: Comment,
        collections.list: ListRecord,
        collections.profile: Profile,
    }


def parse_record(
    collection: Nsid, collections: Collections, block: bytes, rkey: Rkey | None = None
) -> Record | Invalid:
    """Parse a record's DAG-CBOR. Never raises: returns the record, or the reasons why it is invalid.

    A record key that is given is checked as well: `self` for a profile, a TID for everything else.
    """
    return parse_record_as(_models(collections)[collection], collection, collections, block, rkey)


def parse_record_as(
    model: type[R], collection: Nsid, collections: Collections, block: bytes, rkey: Rkey | None = None
) -> R | Invalid:
    """As `parse_record`, for a caller that knows the model of the collection."""
    try:
        document = libipld.decode_dag_cbor(block)
    except (ValueError, RecursionError) as error:
        return Invalid((_shorten(f"The record is not DAG-CBOR: {error}"),))
    if not isinstance(document, dict):
        return Invalid(("The record is not a map",))
    if document.get("$type") != collection:
        return Invalid((f"$type: must be {collection}",))
    if rkey is not None and not _key_fits(collection, collections, rkey):
        return Invalid(("The record key must be self for a profile and a TID for any other record",))
    try:
        return model.model_validate(document, context=block)
    except ValidationError as error:
        return Invalid(_reasons(error))


def _key_fits(collection: Nsid, collections: Collections, rkey: Rkey) -> bool:
    return rkey == "self" if collection == collections.profile else is_tid(rkey)


def _reasons(error: ValidationError) -> tuple[str, ...]:
    """The first few faults as `field: what is wrong`."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    reasons = [
        _shorten(f"{_path(fault['loc'])}: {_plain_sentence(fault['msg'])}") for fault in faults[:MAX_REASONS]
    ]
    if len(faults) > MAX_REASONS:
        reasons[-1] = f"and {len(faults) - MAX_REASONS + 1} more"
    return tuple(reasons)


def _path(location: tuple[int | str, ...]) -> str:
    """`("items", 3, "subject")` is written `items[3].subject`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location).lstrip(".")


def _plain_sentence(message: str) -> str:
    return message.removeprefix("Value error, ")


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_REASON_LENGTH else text[: MAX_REASON_LENGTH - 1] + "…"
