"""Identifiers in addresses: ids, at-uris, handles and DIDs. Each identifies one resource, or none."""

from typing import Annotated

from pydantic import AfterValidator, Field

from readapi.index.lookups import Index
from schemas.ids import ID_BITS, is_at_uri, is_did
from schemas.spaces import is_in_space

_MOST_DIGITS = len(str(1 << ID_BITS))


def _did(text: str) -> str:
    if not is_did(text):
        raise ValueError("must be a DID")
    return text


def _at_uri(text: str) -> str:
    if not is_at_uri(text) and not is_in_space(text):
        raise ValueError("must be an at-uri")
    return text


TrackName = Annotated[
    str,
    Field(
        description="A track's id, alone or with its check, or its at-uri, percent-encoded.",
        json_schema_extra={"type": ["integer", "string"]},
    ),
]
ListName = Annotated[str, Field(description="A list's id, or its at-uri, percent-encoded.")]
ArtistName = Annotated[str, Field(description="A handle, in any case, or a DID.")]
DidName = Annotated[
    str, AfterValidator(_did), Field(description="A DID.", json_schema_extra={"format": "did"})
]
AtUriName = Annotated[
    str,
    AfterValidator(_at_uri),
    Field(description="The at-uri of a record.", json_schema_extra={"format": "at-uri"}),
]


def parse_track_id(name: str) -> int | None:
    """A name as a track's numeric id; None when it cannot be one."""
    if not (name.isascii() and name.isdecimal()) or len(name) > _MOST_DIGITS:
        return None
    number = int(name)
    return number if number < 1 << ID_BITS else None


def resolve_owner(index: Index, uri: str) -> str:
    """The at-uri with its owner's handle replaced by the DID."""
    owner, slash, path = uri.removeprefix("at://").partition("/")
    if is_did(owner):
        return uri
    artist = index.artist(owner)
    return uri if artist is None else f"at://{artist.did}{slash}{path}"
