"""Whatever bytes come, `parse` answers with a record or with reasons."""

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import records
from schemas.collections import Collections
from schemas.ids import Rkey
from schemas.records import Invalid, Like, Track, parse_record
from tests import documents
from tests.documents import COLLECTIONS, NAMES

ABSENT = object()
AUDIO = documents.blob("audio/mpeg", 4096)
COVER = documents.blob("image/png", 900)

REFUSED: list[tuple[str, str, Any, str]] = [
    ("track", "title", ABSENT, "title: Field required"),
    ("track", "title", "", "title: must not be empty"),
    ("track", "title", None, "title: Input should be a valid string"),
    ("track", "title", 7, "title: Input should be a valid string"),
    ("track", "title", "x" * 10_240, "title: must not exceed 2560 bytes"),
    ("track", "title", "x" * 257, "title: must have 256 letters or fewer"),
    ("track", "artist", ABSENT, "artist: Field required"),
    ("track", "fileType", ABSENT, "fileType: Field required"),
    ("track", "fileType", "x" * 17, "fileType: must not exceed 16 bytes"),
    ("track", "createdAt", ABSENT, "createdAt: Field required"),
    ("track", "createdAt", "2026-03-01", "createdAt: must be a datetime with a timezone"),
    ("track", "createdAt", "2026-03-01T12:00:00", "createdAt: must be a datetime with a timezone"),
    ("track", "createdAt", "0000-01-01T00:00:00+01:00", "createdAt: names an instant that does not exist"),
    ("track", "createdAt", "9999-12-31T23:59:59-01:00", "createdAt: names an instant that does not exist"),
    ("track", "createdAt", 1_772_366_400, "createdAt: must be a string"),
    ("track", "album", None, "album: Input should be a valid string"),
    ("track", "duration", "184", "duration: Input should be a valid integer"),
    ("track", "duration", 184.0, "duration: Input should be a valid integer"),
    ("track", "duration", True, "duration: Input should be a valid integer"),
    ("track", "duration", -1, "duration: Input should be greater than or equal to 0"),
    ("track", "duration", 2**63, "duration: Input should be less than or equal to 604800"),
    ("track", "tags", ["x"] * 11, "tags: must not hold more than 10 items"),
    ("track", "tags", "ambient", "tags: must be an array"),
    ("track", "tags", ["x" * 51], "tags[0]: must have 50 letters or fewer"),
    ("track", "features", [{"did": "ada.example"}], "features[0].did: must have the format did"),
    ("track", "features", ["did:plc:asdf123"], "features[0]: Input should be a valid dictionary"),
    ("track", "audioBlob", COVER, "audioBlob: must be audio/*"),
    ("track", "audioBlob", {**AUDIO, "mimeType": "video/mpeg"}, "audioBlob: must be audio/*"),
    ("track", "audioBlob", {**AUDIO, "size": (100 << 20) + 1}, "audioBlob: must not exceed 104857600 bytes"),
    ("track", "audioBlob", {**AUDIO, "size": -1}, "audioBlob.size: Input should be greater than"),
    ("track", "audioBlob", {**AUDIO, "ref": documents.AUDIO_CID}, "audioBlob.ref: must be a link by CID"),
    ("track", "audioBlob", {"cid": documents.AUDIO_CID, "mimeType": "audio/mpeg"}, "audioBlob.$type: Field"),
    ("track", "image", AUDIO, "image: must be image/*"),
    ("track", "image", {**COVER, "size": (10 << 20) + 1}, "image: must not exceed 10485760 bytes"),
    ("track", "audioUrl", "no url", "audioUrl: must have the format uri"),
    ("track", "access", {}, "access.listening: Field required"),
    (
        "track",
        "access",
        {"listening": "friends", "downloads": "open", "visibility": "public"},
        "access.listening",
    ),
    ("track", "access", {"listening": "public", "downloads": "", "visibility": "public"}, "access.downloads"),
    ("track", "access", {"listening": "public", "downloads": "open", "visibility": "x"}, "access.visibility"),
    ("track", "policyOrigin", "elsewhere", "policyOrigin: Input should be 'portal', 'album' or 'track'"),
    ("track", "labels", {"values": [{"val": "x" * 129}]}, "labels.values[0].val: must not exceed 128 bytes"),
    ("track", "rights", {"parties": [{"name": "Ada"}]}, "rights.parties[0].mechanicalShare: Field required"),
    ("like", "subject", documents.TRACK_URI, "subject: Input should be a valid dictionary"),
    ("like", "subject", {"uri": documents.TRACK_URI}, "subject.cid: Field required"),
    (
        "like",
        "subject",
        {**documents.strong_ref(), "uri": "at://nobody"},
        "subject.uri: must have the format at-uri",
    ),
    ("like", "subject", {**documents.strong_ref(), "cid": "x"}, "subject.cid: must have the format cid"),
    ("comment", "text", "", "text: must not be empty"),
    ("comment", "text", "x" * 1001, "text: must have 1000 letters or fewer"),
    ("comment", "timestampMs", -1, "timestampMs: Input should be greater than or equal to 0"),
    ("comment", "timestampMs", "0", "timestampMs: Input should be a valid integer"),
    ("list", "items", ABSENT, "items: Field required"),
    (
        "list",
        "items",
        [{"subject": documents.strong_ref()}] * 501,
        "items: must not hold more than 500 items",
    ),
    ("list", "items", [{"subject": {}}], "items[0].subject.uri: Field required"),
    ("profile", "createdAt", ABSENT, "createdAt: Field required"),
    ("profile", "avatar", "https://ada.example/face.png", "avatar: Input should be a valid dictionary"),
    ("profile", "supportUrl", "x" * 2049, "supportUrl: must not exceed 2048 bytes"),
]

ACCEPTED: list[tuple[str, str, Any]] = [
    ("track", "title", "東" * 256),
    ("track", "title", "a\0b \u202egnp.exe <script>alert(1)</script>"),
    ("track", "createdAt", "1970-01-01T00:00:00Z"),
    ("track", "createdAt", "0001-01-01T00:00:00Z"),
    ("track", "createdAt", "9999-12-31T23:59:59Z"),
    ("track", "audioUrl", "javascript:alert(1)"),
    ("track", "tags", []),
    ("track", "title2", {"$type": "com.example.unheardof", "x": [None, 1.5, {}]}),
    ("track", "duration", 0),
    ("track", "access", {"listening": "public", "downloads": "open", "visibility": "private", "else": 1}),
    ("like", "subject", {**documents.strong_ref(), "uri": "at://did:web:ada.example/com.example.other/x"}),
    ("comment", "timestampMs", 0),
    ("list", "listType", "mixtape"),
    ("list", "items", [{"subject": documents.strong_ref()}] * 500),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_full_record_is_read(name: str) -> None:
    """Every field of it arrives."""
    record = _parse(name, documents.full(name))

    assert not isinstance(record, Invalid)
    assert [field for field in type(record).model_fields if getattr(record, field) is None] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_record_with_only_the_required_fields_is_read(name: str) -> None:
    """Other clients owe us no more."""
    record = _parse(name, documents.least(name))

    assert not isinstance(record, Invalid)
    assert record.created_at == datetime(2026, 3, 1, 12, 30, 0, 250_000, tzinfo=UTC)


def test_a_blob_is_known_by_its_cid() -> None:
    """As text, the way that a server is asked for it."""
    record = _parse("track", documents.full("track"))

    assert isinstance(record, Track)
    assert record.audio_blob is not None
    assert record.audio_blob.ref == documents.AUDIO_CID


@pytest.mark.parametrize(("name", "field", "value", "reason"), REFUSED)
def test_a_record_that_breaks_its_lexicon_has_a_reason(
    name: str, field: str, value: Any, reason: str
) -> None:
    """One sentence that names the field."""
    invalid = _parse(name, _with(documents.full(name), field, value))

    assert isinstance(invalid, Invalid)
    assert invalid.reasons[0].startswith(reason)


@pytest.mark.parametrize(("name", "field", "value"), ACCEPTED)
def test_odd_but_valid_values_are_read(name: str, field: str, value: Any) -> None:
    """Hostile strings, far times and fields of later versions are data."""
    assert not isinstance(_parse(name, _with(documents.full(name), field, value)), Invalid)


def test_all_faults_of_a_record_are_told_up_to_ten() -> None:
    """Reasons are few and short, however wrong the record."""
    items = [{"subject": {"uri": "x" * 5000, "cid": 7}}] * 400

    invalid = _parse("list", {**documents.full("list"), "items": items})

    assert isinstance(invalid, Invalid)
    assert len(invalid.reasons) == 10
    assert invalid.reasons[:2] == (
        "items[0].subject.uri: must have the format at-uri",
        "items[0].subject.cid: Input should be a valid string",
    )
    assert invalid.reasons[-1] == "and 791 more"


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        pytest.param(b"", "The record is not DAG-CBOR", id="nothing"),
        pytest.param(b"\xa0\xa0", "The record is not DAG-CBOR", id="two objects"),
        pytest.param(b"\xa1\x61\x61\x62\xed\xa0", "The record is not DAG-CBOR", id="half a character"),
        pytest.param(b"\xa1\x61\x61\xfb\x7f\xf0\x00\x00\x00\x00\x00\x00", "The record is not", id="infinity"),
        pytest.param(b"\x81" * 100_000, "The record is not DAG-CBOR", id="100,000 deep"),
        pytest.param(b"\x9b" + b"\xff" * 8, "The record is not DAG-CBOR", id="an endless array"),
        pytest.param(b"\x80", "The record is not a map", id="an array"),
        pytest.param(b"\xf6", "The record is not a map", id="null"),
        pytest.param(b"\xa0", "$type: must be fm.svc.like", id="no type"),
    ],
)
def test_bytes_that_are_no_record_have_a_reason(block: bytes, reason: str) -> None:
    """Damage is told, never raised."""
    invalid = parse_record(COLLECTIONS.like, COLLECTIONS, block)

    assert isinstance(invalid, Invalid)
    assert invalid.reasons[0].startswith(reason)


def test_the_type_must_be_the_collection_under_the_configured_namespace() -> None:
    """A record of `dev.example.like` is read in that namespace, and in no other."""
    elsewhere = Collections("dev.example")
    block = documents.encode({**documents.least("like"), "$type": "dev.example.like"})

    assert isinstance(parse_record(elsewhere.like, elsewhere, block), Like)
    assert parse_record(COLLECTIONS.like, COLLECTIONS, block) == Invalid(("$type: must be fm.svc.like",))


@pytest.mark.parametrize(
    ("name", "rkey", "fits"),
    [
        ("track", "3kznmn7xqxl22", True),
        ("track", "my-song", False),
        ("like", "self", False),
        ("profile", "self", True),
        ("profile", "3kznmn7xqxl22", False),
    ],
)
def test_a_record_key_is_held_to_the_lexicon(name: str, rkey: str, fits: bool) -> None:
    """An account has one profile, and everything else is keyed by TIDs."""
    block = documents.encode(documents.least(name))

    record = parse_record(documents.collection(name), COLLECTIONS, block, Rkey(rkey))

    assert isinstance(record, Invalid) is not fits


def test_a_record_of_a_million_tags_is_refused_without_looking_at_them() -> None:
    """One reason, at once."""
    invalid = _parse("track", {**documents.least("track"), "tags": [0] * 1_000_000})

    assert invalid == Invalid(("tags: must not hold more than 10 items",))


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64 - 1)
    | st.text(max_size=20)
    | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from(NAMES), st.binary(max_size=300))
def test_any_bytes_have_an_answer(name: str, block: bytes) -> None:
    """A record or bounded reasons."""
    _answers(name, block)


@settings(max_examples=150)
@given(st.sampled_from(NAMES), st.data())
def test_any_flipped_byte_has_an_answer(name: str, data: st.DataObject) -> None:
    """Records that were damaged on the way or by intent."""
    block = bytearray(documents.encode(documents.full(name)))
    for _ in range(data.draw(st.integers(1, 3))):
        block[data.draw(st.integers(0, len(block) - 1))] = data.draw(st.integers(0, 255))

    _answers(name, bytes(block))


@settings(max_examples=150)
@given(st.sampled_from(NAMES), st.data())
def test_any_value_anywhere_has_an_answer(name: str, data: st.DataObject) -> None:
    """Whatever stands in a field, at any depth."""
    document = copy.deepcopy(documents.full(name))
    place: Any = document
    while True:
        step = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        inner = place[step]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            break
        place = inner
    place[step] = data.draw(ANYTHING)

    _answers(name, documents.encode(document))


def _answers(name: str, block: bytes) -> None:
    answer = parse_record(documents.collection(name), COLLECTIONS, block)

    if isinstance(answer, Invalid):
        assert 1 <= len(answer.reasons) <= records.MAX_REASONS
        assert all(0 < len(reason) <= records.MAX_REASON_LENGTH for reason in answer.reasons)


def _parse(name: str, document: documents.Document) -> records.Record | Invalid:
    return parse_record(documents.collection(name), COLLECTIONS, documents.encode(document))


def _with(document: documents.Document, field: str, value: Any) -> documents.Document:
    """The document with one field changed or left out."""
    kept = {name: old for name, old in document.items() if name != field}
    return kept if value is ABSENT else {**kept, field: value}
