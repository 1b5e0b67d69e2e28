"""Labels are read as https://atproto.com/specs/label says, and else refused with a reason."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cbrrr import encode_dag_cbor

from indexer.labels.signed import BadLabel, is_ours, read_label
from indexer.repo.signing_keys import parse_key
from schemas.ids import Nsid
from tests.indexer.changes import did, uri
from tests.network.forge import Curve, SigningKey

SOURCE = "did:plc:labelerlabelerlabelerlab"
NOW = datetime(2026, 6, 1, tzinfo=UTC)
TRACK = str(uri("ana", "track"))
CID = "bafyreidfayvfuwqa7qlnopdjiqrxzs6blmoeu4rujcjtnci5beludirz2a"


def signed(key: SigningKey, **changes: Any) -> dict[str, Any]:
    """A label with a signature of what it says; None: without the field."""
    label: dict[str, Any] = {
        "ver": 1,
        "src": SOURCE,
        "uri": TRACK,
        "val": "porn",
        "cts": "2026-05-01T00:00:00Z",
    }
    label = {name: value for name, value in (label | changes).items() if value is not None}
    return label | {"sig": key.sign(encode_dag_cbor(label))}


@pytest.mark.parametrize("curve", ["k256", "p256"])
def test_a_label_verifies_with_the_labelers_key_alone(curve: Curve) -> None:
    """With all fields, in any order, and not after any of them was changed."""
    key, other = SigningKey("one", curve), SigningKey("two", curve)
    given = signed(key, cid=CID, exp="2027-01-01T00:00:00.000Z", neg=False)

    found = read_label(dict(reversed(given.items())), SOURCE, NOW)
    changed = read_label(given | {"val": "rock"}, SOURCE, NOW)

    assert found.is_signed_by(parse_key(key.multibase))
    assert not found.is_signed_by(parse_key(other.multibase))
    assert not changed.is_signed_by(parse_key(key.multibase))
    assert (found.label.subject, found.label.cid, found.label.value) == (TRACK, CID, "porn")
    assert found.label.stands(NOW)
    assert not found.label.stands(datetime(2027, 1, 2, tzinfo=UTC))


def test_a_signature_with_a_high_s_is_refused() -> None:
    key = SigningKey("one")
    given = signed(key)
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    high = order - int.from_bytes(given["sig"][32:], "big")
    forged = given | {"sig": given["sig"][:32] + high.to_bytes(32, "big")}

    assert not read_label(forged, SOURCE, NOW).is_signed_by(parse_key(key.multibase))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ver": 2}, "version"),
        ({"ver": True}, "version"),
        ({"src": did("ana")}, "another labeler"),
        ({"uri": "https://example.com"}, "uri"),
        ({"uri": f"at://{did('ana')}/fm.svc.track"}, "uri"),
        ({"uri": 7}, "uri"),
        ({"val": ""}, "val"),
        ({"val": "x" * 129}, "val"),
        ({"val": "ä" * 65}, "val"),
        ({"val": "a b"}, "val"),
        ({"cts": "yesterday"}, "cts"),
        ({"cts": None}, "cts"),
        ({"cts": (NOW + timedelta(minutes=6)).isoformat()}, "future"),
        ({"exp": "never"}, "exp"),
        ({"cid": "not one"}, "cid"),
        ({"neg": 1}, "neg"),
        ({"note": "x" * 9000}, "too large"),
    ],
)
def test_a_label_that_is_not_as_the_lexicon_says_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadLabel, match=reason):
        read_label(signed(SigningKey("one"), **changes), SOURCE, NOW)


@pytest.mark.parametrize("given", [None, 7, [], "label", {1: 2}, {"ver": 1, "src": SOURCE}])
def test_what_is_no_signed_label_is_refused(given: object) -> None:
    with pytest.raises(BadLabel):
        read_label(given, SOURCE, NOW)


def test_labels_of_others_collections_are_none_of_ours() -> None:
    ours = frozenset({Nsid("fm.svc.track")})
    assert is_ours({"uri": TRACK}, ours)
    assert is_ours({"uri": did("ana")}, ours)
    assert not is_ours({"uri": f"at://{did('ana')}/app.bsky.feed.post/3k"}, ours)
    assert is_ours({"uri": None}, ours)
