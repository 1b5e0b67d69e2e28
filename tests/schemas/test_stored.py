"""What the index stores of a document comes back as it went in."""

from schemas import stored
from schemas.stored import Stored

TRACK = {
    "doc": "track:7",
    "did": "did:plc:ana",
    "title": "found by, but not stored",
    "access": b"public open unlisted",
    "address": b"7-abcdefgh",
    "items": b"[3,1]",
    "proof": b'{"cid":"bafy"}',
    "audio": b'{"cid":"bafk"}',
    "found_by": b'[["Ana"],null]',
    "card": '{"title":"東京"'.encode(),
}


def unpacked(fields):
    return Stored(memoryview(stored.pack_document(fields)))


def test_what_is_packed_is_unpacked():
    """What a document has not is empty."""
    found = unpacked(TRACK)

    assert (found.doc, found.did) == ("track:7", "did:plc:ana")
    assert (found.policy, found.thumb, found.items) == (TRACK["access"], None, (3, 1))
    assert (found.audio, found.found_by) == (TRACK["audio"], TRACK["found_by"])
    assert (found.proof, found.card, found.card_in_place) == (TRACK["proof"], TRACK["card"], TRACK["card"])
    assert found.in_lists == (found.policy, found.address, found.card)
    assert found.address == TRACK["address"]
    assert unpacked({"doc": "tag:jazz", "thumb": b"640x480"}).thumb == (640, 480)


def test_digests_differ_with_anything_stored():
    """And with nothing else."""
    digest = unpacked(TRACK).digest

    others = [{"doc": "track:8"}, {"thumb": b"1x1"}, {"card": b"{}"}, {"items": b"", "proof": b"[3,1]{}"}]
    assert digest not in [unpacked(TRACK | other).digest for other in others]
    assert digest == unpacked(TRACK | {"title": "else"}).digest
