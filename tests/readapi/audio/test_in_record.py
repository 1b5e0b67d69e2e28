"""Where a record says that its audio is."""

import pytest

from readapi.audio import in_record
from readapi.audio.in_record import AudioLocation
from schemas.ids import Cid
from schemas.publishing import OPEN, TemplateAccess

HOME = "https://music.example"
CID = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"  # of nothing
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
BLOB = {"$type": "blob", "ref": {"$link": CID}, "mimeType": "audio/wav", "size": 0}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"audioBlob": BLOB}, AudioLocation("pds", EMPTY, BLOB)),
        ({"audioBlob": BLOB, "audioUrl": f"{HOME}/audio/{EMPTY}"}, AudioLocation("pds", EMPTY, BLOB)),
        ({"audioUrl": f"{HOME}/audio/{EMPTY}"}, AudioLocation("managed", EMPTY)),
        ({"audioUrl": f"{HOME}/audio/../{EMPTY}"}, AudioLocation("elsewhere")),
        ({"audioUrl": f"https://away.example/audio/{EMPTY}"}, AudioLocation("elsewhere")),
        ({}, AudioLocation("none")),
    ],
)
def test_a_record_says_where_its_audio_is(value: in_record.Value, expected: AudioLocation) -> None:
    """In a blob before all, behind our own address, at another's, or nowhere."""
    assert in_record.locate_audio(value, HOME, None) == expected


def test_a_cid_is_a_hash_and_a_little_more() -> None:
    """The SHA-256 of the bytes is in it; anything else is none."""
    assert in_record.digest_of(Cid(CID)) == EMPTY
    with pytest.raises(ValueError, match="not a CIDv1"):
        in_record.digest_of(Cid("bafy"))


def test_a_record_without_a_snapshot_is_open() -> None:
    """One with a snapshot is what that says, whatever else it says."""
    assert in_record.access_of({}) == OPEN
    snapshot = {"listening": "owner", "downloads": "off", "visibility": "unlisted", "later": 1}
    assert in_record.access_of({"access": snapshot}) == TemplateAccess(
        listening="owner", downloads="off", visibility="unlisted"
    )
