"""What the index stores of a document comes back as it went in."""

import pytest

from schemas import stored

TRACK = {
    "doc": "track:7",
    "did": "did:plc:ana",
    "title": "found by, but not stored",
    "access": b"public open unlisted",
    "proof": b'{"cid":"bafy"}',
    "card": '{"title":"two\\nlines, 東京"'.encode(),
}


def test_what_is_packed_is_unpacked():
    """What a document has not is empty."""
    found = stored.unpack(stored.pack(TRACK))

    assert found.card == TRACK["card"]
    assert found[1:] == (
        b"track:7",
        b"did:plc:ana",
        TRACK["access"],
        b"",
        b"",
        TRACK["proof"],
        TRACK["card"],
    )


def test_digests_differ_with_anything_stored():
    """And with nothing else."""
    digest = stored.unpack(stored.pack(TRACK)).digest

    others = [TRACK | {"doc": "track:8"}, TRACK | {"thumb": b"1x1"}, TRACK | {"card": b"{}"}]
    assert digest not in [stored.unpack(stored.pack(other)).digest for other in others]
    assert digest == stored.unpack(stored.pack(TRACK | {"title": "else"})).digest


def test_line_breaks_are_refused():
    """They would move everything after them."""
    with pytest.raises(ValueError, match="line break"):
        stored.pack(TRACK | {"proof": b"a\nb"})
