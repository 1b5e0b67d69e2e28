"""Identifiers follow the protocol's syntax, and derived ids are the same everywhere."""

import itertools
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import ids
from schemas.ids import AtUri
from tests import interop

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
URI = "at://did:plc:ewvi7nxzyoun6zhxrhs64oiz/fm.svc.track/3kznmn7xqxl22"

INSTANTS = st.integers(0, 2**53 - 2).map(lambda count: EPOCH + timedelta(microseconds=count))

SYNTAX: list[tuple[str, Callable[[str], bool]]] = [
    ("did", ids.is_did),
    ("handle", ids.is_handle),
    ("nsid", ids.is_nsid),
    ("tid", ids.is_tid),
    ("recordkey", ids.is_rkey),
    ("aturi", ids.is_at_uri),
]
WRITTEN_BY_OTHERS = ("zdj7", "mBcD", "z7x3", "7134", "f017")  # CIDs in other bases, codecs or hashes


@pytest.mark.parametrize(("name", "holds"), SYNTAX, ids=[name for name, _ in SYNTAX])
def test_valid_identifiers_of_the_public_vectors_hold(name: str, holds: Callable[[str], bool]) -> None:
    """Everything that the protocol calls valid is accepted."""
    refused = [text for text in interop.lines(f"syntax/{name}_syntax_valid.txt") if not holds(text)]

    assert refused == []


@pytest.mark.parametrize(("name", "holds"), SYNTAX, ids=[name for name, _ in SYNTAX])
def test_invalid_identifiers_of_the_public_vectors_do_not(name: str, holds: Callable[[str], bool]) -> None:
    """Everything that the protocol calls invalid is refused."""
    accepted = [text for text in interop.lines(f"syntax/{name}_syntax_invalid.txt") if holds(text)]

    assert accepted == []


def test_a_cid_is_accepted_in_the_one_form_that_the_protocol_writes() -> None:
    """CIDv1, SHA-256, base32; the vectors also know forms that no repo contains."""
    valid = interop.lines("syntax/cid_syntax_valid.txt")

    assert [text for text in valid if not ids.is_cid(text) and not text.startswith(WRITTEN_BY_OTHERS)] == []
    assert [text for text in interop.lines("syntax/cid_syntax_invalid.txt") if ids.is_cid(text)] == []


def test_a_cid_that_a_record_names_may_be_in_any_base() -> None:
    """What the network's servers take; only version 0 is none."""
    valid, invalid = (interop.lines(f"syntax/cid_syntax_{kind}.txt") for kind in ("valid", "invalid"))

    assert [text for text in valid if not ids.is_cid_text(text)] == []
    assert [text for text in invalid if ids.is_cid_text(text)] == []


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("zdj7WWeQ43G6JJvLWQWZpyHuAMq6uYWRjkBXFad11vE2LHhQ7", True),  # base58
        ("f017012202c5f688262e0ece8569aa6f94d60aad55ca8d9d83734e4a7430d0cff6588ec2b", True),  # base16
        ("QmbWqxBEKC3P8tqsKc98xmWNzrzDtRLMiMPL8wBuTGsMnR", False),
        ("bafybe igdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi", False),
        ("b", False),
        ("b" * 257, False),
    ],
)
def test_a_cid_in_another_base(text: str, holds: bool) -> None:
    """Our own copy of the vectors that matter."""
    assert ids.is_cid_text(text) is holds


def test_the_uri_of_a_record_is_taken_apart_and_put_together() -> None:
    """Parsing keeps every part."""
    uri = AtUri.parse(URI)

    assert (uri.did, uri.collection, uri.rkey) == (
        "did:plc:ewvi7nxzyoun6zhxrhs64oiz",
        "fm.svc.track",
        "3kznmn7xqxl22",
    )
    assert str(uri) == URI


@pytest.mark.parametrize(
    "text",
    [
        "",
        "at://",
        "at://did:plc:asdf123",
        "at://did:plc:asdf123/fm.svc.track",
        "at://ada.example/fm.svc.track/3kznmn7xqxl22",
        "at://did:plc:asdf123/fm.svc.track/3kznmn7xqxl22/",
        "at://did:plc:asdf123/fm.svc.track/..",
        "at://did:plc:asdf123/track/3kznmn7xqxl22",
        "https://did:plc:asdf123/fm.svc.track/3kznmn7xqxl22",
        "at://did:plc:asdf123/fm.svc.track/3kznmn7xqxl22\n",
    ],
)
def test_whatever_is_not_the_uri_of_a_record_is_refused(text: str) -> None:
    """A handle, an account, a collection and rubbish are not records."""
    with pytest.raises(ValueError, match="at-uri"):
        AtUri.parse(text)


@given(st.text())
def test_any_text_parses_or_raises_value_error(text: str) -> None:
    """Nothing else can come out of a parser that reads strangers' text."""
    try:
        assert str(AtUri.parse(text)) == text
    except ValueError:
        assert not (ids.is_at_uri(text) and text.startswith("at://did:") and text.count("/") == 4)


def test_derived_ids_never_change() -> None:
    """They are addresses that people keep: the first bits of SHA-256, and UUIDv5 of the at-uri."""
    assert ids.record_key(URI) == -7715818694256199290
    assert ids.record_id(URI) == 5239709657936207
    assert ids.record_id(URI, attempt=1) == 4189297438496363
    assert ids.list_id(URI) == uuid.UUID("963b829d-2f1b-5340-9b83-92b173f67131")


def test_a_collision_tries_the_name_with_a_number() -> None:
    """The first attempt after a collision is the id of the name with `#1`."""
    assert ids.record_id(URI, attempt=1) == ids.record_id(f"{URI}#1")
    assert ids.record_id(URI, attempt=2) == ids.record_id(f"{URI}#2")


@given(st.text())
def test_ids_are_exact_in_json(name: str) -> None:
    """Every reader of JSON keeps integers below 2^53; keys fit a BIGINT."""
    assert 0 <= ids.record_id(name) < 2**53
    assert -(2**63) <= ids.record_key(name) < 2**63


@given(
    INSTANTS,
    st.integers(0, 1023),
)
def test_a_tid_names_its_instant(instant: datetime, clock_id: int) -> None:
    """To the microsecond, whatever the clock id."""
    tid = ids.tid_at(instant, clock_id)

    assert ids.is_tid(tid)
    assert ids.tid_time(tid) == instant


@given(INSTANTS)
def test_tids_sort_as_their_instants(instant: datetime) -> None:
    """A later commit has the greater rev, as text."""
    assert ids.tid_at(instant, 1023) < ids.tid_at(instant + timedelta(microseconds=1))


def test_instants_that_no_tid_can_name_have_the_nearest() -> None:
    """A relay may claim any time; its account events must not order at random."""
    assert ids.tid_at(datetime(1, 1, 1, tzinfo=UTC)) == "2222222222222"
    assert ids.tid_at(datetime(9999, 1, 1, tzinfo=UTC)) == "bzzzzzzzzzz22"


@pytest.mark.parametrize("text", ["", "3kznmn7xqxl2", "3kznmn7xqxl22z", "zzzzzzzzzzzzz", "3KZNMN7XQXL22"])
def test_the_time_of_no_tid_is_a_value_error(text: str) -> None:
    """Strangers choose record keys."""
    with pytest.raises(ValueError, match="not a TID"):
        ids.tid_time(text)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Ambient", "ambient"),
        ("#Ambient", "ambient"),
        ("## # ambient", "ambient"),
        ("  field \t recording ", "field recording"),
        ("Straße", "strasse"),
        ("ＪＡＺＺ", "jazz"),
        ("Café", "café"),
        ("東京", "東京"),
        ("drum'n'bass/jungle", "drum'n'bass/jungle"),
        ("a\0b", "ab"),
        ("＃wide", "wide"),
        ("# ", ""),
    ],
)
def test_a_tag_has_one_spelling(written: str, shown: str) -> None:
    """Case, width, spaces and a leading # do not make another tag."""
    assert ids.normalise_tag(written) == shown


@given(st.text() | st.text("# \t\0\u0301\u0345aAάΰ\u3000"))
def test_normalising_a_tag_twice_changes_nothing(name: str) -> None:
    """A stored tag can be looked up by itself."""
    once = ids.normalise_tag(name)

    assert ids.normalise_tag(once) == once


def test_ids_of_a_thousand_records_differ() -> None:
    """53 bits are plenty; the writer still probes."""
    names = [f"{URI}{number}" for number in range(1000)]

    assert len(set(map(ids.record_id, names))) == 1000
    assert all(first != second for first, second in itertools.pairwise(map(ids.record_key, names)))


def test_a_derived_tid_stands_for_one_name() -> None:
    """It is a TID, always the same, of a time that no commit has yet."""
    one, other = ids.derived_tid("like at://one"), ids.derived_tid("like at://other")

    assert one == ids.derived_tid("like at://one") != other
    assert ids.is_tid(one)
    assert ids.tid_time(one).year >= 2112
