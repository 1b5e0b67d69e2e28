"""The field types mean what lexicons mean: held to the protocol's public record vectors."""

from typing import Annotated, Any, Literal

import cbrrr
import libipld
import pytest
from pydantic import Field, ValidationError

from schemas.fields import (
    Accepts,
    AtUriString,
    Blob,
    CidString,
    Datetime,
    DidString,
    Items,
    Maybe,
    Shape,
    Text,
    Uri,
    is_uri,
)
from tests import documents, interop


class Inner(Shape):
    """`example.lexicon.record#demoObject`."""

    a: Maybe[int] = None
    b: Maybe[int] = None


class Formats(Shape):
    """`example.lexicon.record#stringFormats`, those that our records use."""

    did: Maybe[DidString] = None
    aturi: Maybe[AtUriString] = None
    cid: Maybe[CidString] = None
    datetime: Maybe[Datetime] = None
    uri: Maybe[Uri] = None


class Example(Shape):
    """`example.lexicon.record`, those of its fields whose rules our records use."""

    integer: int
    boolean: Maybe[bool] = None
    string: Maybe[str] = None
    nullable_string: str | None = None
    blob: Maybe[Blob] = None
    array: Maybe[tuple[int, ...]] = Field(None, strict=False)
    object: Maybe[Inner] = None
    formats: Maybe[Formats] = None
    range_integer: Maybe[Annotated[int, Field(ge=10, le=20)]] = None
    len_string: Maybe[Annotated[str, Text(max_bytes=20)]] = None
    grapheme_string: Maybe[Annotated[str, Text(max_bytes=500, max_graphemes=20)]] = None
    enum_string: Maybe[Literal["fish", "tree", "rock"]] = None
    len_array: Maybe[Annotated[tuple[int, ...], Items(5)]] = None
    size_blob: Maybe[Annotated[Blob, Accepts("text", 20)]] = None
    accept_blob: Maybe[Annotated[Blob, Accepts("image", 10**9)]] = None


# The fields of the vectors whose rules no record of ours uses.
UNUSED_FIELDS = {"bytes", "cid-link", "union", "closedUnion", "ref", "unknown", "constInteger", "enumInteger"}
UNUSED_FIELDS |= {"sizeBytes"}
UNUSED_FORMATS = {"handle", "atidentifier", "nsid", "language", "tid", "recordkey"}
UNUSED_RULES = {"string too short", "string too short (graphemes)", "array too short"}


def test_valid_records_of_the_public_vectors_are_read() -> None:
    """Every one."""
    for case in interop.cases("lexicon/record-data-valid.json"):
        assert read(case["data"]).integer in (1, 3), case["name"]


def test_invalid_records_of_the_public_vectors_are_refused() -> None:
    """Every one that breaks a rule which our records use."""
    cases = [case for case in interop.cases("lexicon/record-data-invalid.json") if concerns_us(case)]

    assert [case["name"] for case in cases if reads(case["data"])] == []
    assert len(cases) >= 20


def test_uris_of_the_public_vectors() -> None:
    """Any scheme, no spaces, at most 8 KB."""
    assert [text for text in interop.lines("syntax/uri_syntax_valid.txt") if not is_uri(text)] == []
    assert [text for text in interop.lines("syntax/uri_syntax_invalid.txt") if is_uri(text)] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must not be empty"),
        ("a" * 11, "must have 10 letters or fewer"),
        ("e\u0301" * 11, "must have 10 letters or fewer"),
        ("東" * 17, "must not exceed 50 bytes"),
    ],
)
def test_a_text_beyond_its_limits_is_refused(text: str, reason: str) -> None:
    """Bytes of UTF-8 and graphemes are counted apart."""
    with pytest.raises(ValueError, match=reason):
        Text(min_bytes=1, max_bytes=50, max_graphemes=10).check(text)


@pytest.mark.parametrize(
    "text", ["a", "a" * 10, "東" * 10, "e\u0301" * 10, "👩‍👩‍👧‍👦👩‍👩‍👧‍👦", "\0\u202e<b>"]
)
def test_a_text_within_its_limits_is_kept_as_it_is(text: str) -> None:
    """A family of four is one grapheme; control characters are characters."""
    assert Text(min_bytes=1, max_bytes=50, max_graphemes=10).check(text) == text


def test_bytes_that_look_like_a_link_are_no_link() -> None:
    """The decoder hands both over alike; only a link is tagged in the record."""
    looks = documents.link(b"x").cid_bytes

    block = documents.encode({"integer": 1, "blob": {**documents.blob(), "ref": looks}})

    with pytest.raises(ValidationError, match="must be a link, not bytes"):
        Example.model_validate(libipld.decode_dag_cbor(block), context=block)


@pytest.mark.parametrize(
    "cid",
    [
        pytest.param(b"\x12\x20" + bytes(32), id="version 0"),
        pytest.param(b"\x01\x55\x13\x20" + bytes(32), id="SHA-512, cut"),
        pytest.param(b"\x01\x55\x12\x10" + bytes(16), id="half a hash"),
    ],
)
def test_a_link_by_another_kind_of_cid_is_refused(cid: bytes) -> None:
    """The protocol writes CIDv1 with SHA-256 only."""
    with pytest.raises(ValidationError, match="must be a link by CID"):
        Example.model_validate({"integer": 1, "blob": {**documents.blob(), "ref": cid}})


def concerns_us(case: dict[str, Any]) -> bool:
    """True when the rule that the case breaks is one that our records use."""
    fields = set(case["data"]) | set(case["data"].get("formats", ()))
    return not fields & (UNUSED_FIELDS | UNUSED_FORMATS) and case["name"] not in UNUSED_RULES


def reads(data: dict[str, Any]) -> bool:
    """True when the record is valid."""
    try:
        read(data)
    except ValidationError:
        return False
    return True


def read(data: dict[str, Any]) -> Example:
    """Read a record given in the JSON form of the protocol."""
    block = documents.encode(from_json(data))
    return Example.model_validate(libipld.decode_dag_cbor(block), context=block)


def from_json(value: Any) -> Any:
    """`{"$link": …}` becomes a link, and so on."""
    match value:
        case {"$link": str(cid)}:
            return cbrrr.CID.decode(cid)
        case dict():
            return {name: from_json(part) for name, part in value.items()}
        case list():
            return [from_json(part) for part in value]
        case _:
            return value
