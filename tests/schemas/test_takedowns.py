"""What subjects are, and what takedowns of them cover."""

from datetime import UTC, datetime

import pytest

from schemas.ids import Did, checked_id, record_id, record_key
from schemas.takedowns import Takedown, Takedowns, read_subject

MARA, BEN = Did("did:plc:mara"), Did("did:web:ben.example")
TRACK = f"at://{MARA}/fm.svc.track/3kznmn7xqxl22"
IN_SPACE = f"at://{MARA}/space/fm.svc.space/self/{MARA}/fm.svc.track/3kznmn7xqxl22"
CID = "b" + "a" * 58


def standing(*subjects: str) -> Takedowns:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    return Takedowns(Takedown(subject, f"Because of {subject}", when) for subject in subjects)


@pytest.mark.parametrize("text", [MARA, BEN, TRACK, IN_SPACE, CID])
def test_subjects_are_accounts_records_and_recordings(text: str) -> None:
    assert read_subject(f" {text}\n") == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mara.example",
        "at://mara.example/fm.svc.track/1",
        f"at://{MARA}",
        f"at://{MARA}/fm.svc.track",
        "did:",
        "*",
    ],
)
def test_anything_else_is_refused_in_a_sentence(text: str) -> None:
    """A handle may change hands: it names nobody for good."""
    with pytest.raises(ValueError, match=r"neither a DID.*\.$"):
        read_subject(text)


def test_an_account_covers_its_documents_and_a_record_its_own() -> None:
    """By the names that search documents have."""
    doc = f"track:{record_key(TRACK)}"

    assert not standing()
    assert standing(MARA).covers_document("artist:x", MARA)
    assert standing(TRACK).covers_document(doc, MARA)
    assert not standing(TRACK).covers_document("artist:x", MARA)
    assert not standing(BEN, CID).covers_document(doc, MARA)
    assert standing(CID).covers_any((MARA, TRACK, CID))
    assert not standing(CID).covers_any((MARA, TRACK))


def test_the_account_concerned_finds_why_by_every_name_of_its_record() -> None:
    """Another account finds nothing, and a takedown of an account is found by its own at-uris alone."""
    one, whole = standing(TRACK), standing(MARA)

    for name in (TRACK, str(record_id(TRACK)), checked_id(TRACK)):
        found = one.of_own_record(name, MARA)
        assert found is not None
        assert found.reason == f"Because of {TRACK}"
        assert one.of_own_record(name, BEN) is None
    assert one.of_own_record("12345", MARA) is None
    assert whole.of_own_record(TRACK, MARA) == Takedown(MARA, *list(whole.find([MARA]) or ())[1:])
    assert whole.of_own_record("12345", MARA) is None
